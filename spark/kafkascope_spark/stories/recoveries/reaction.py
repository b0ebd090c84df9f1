"""A reaction to an error, and the constructors with which the tables of reactions are written.

Steps are those of the table recovery_steps. A reaction says which steps resolve the error. How long a client may retry
without them is decided in `conduct`.
"""

from dataclasses import dataclass

NO_STEPS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reaction:
    """What a client should do about an error."""

    text: str
    """The expected next requests, as users read them."""

    first: frozenset[str] = NO_STEPS
    """Steps of which one has to come before a retry at the same node is correct; empty where a retry needs none."""

    forbidden: frozenset[str] = NO_STEPS
    """Steps that do not resolve the error: a client that takes them misunderstands it."""

    fatal: bool = False
    """Whether the client, or the operation that it wanted, ends with the error."""

    is_denied: bool = False
    """Whether the error is fatal because of configuration or permission, so that the application may try again."""

    is_not_ready: bool = False
    """Whether the cluster needs time (an election, loading): the wait counts as the broker's time."""

    is_stale: bool = False
    """Whether the client used the wrong broker: the time until it learns the right one counts as stale metadata."""

    waits: bool = False
    """Whether a retry without a pause is wrong."""


def ask(text: str, *first: str, forbidden: tuple[str, ...] = ()) -> Reaction:
    """Take one of the steps, then retry."""
    return Reaction(text, frozenset(first), frozenset(forbidden))


def find_owner(text: str, *first: str) -> Reaction:
    """Take one of the steps, then retry at the broker that they name: the one used is not the leader or coordinator."""
    return Reaction(text, frozenset(first), is_stale=True)


def back_off(text: str, *, forbidden: tuple[str, ...] = (), not_ready: bool = False, waits: bool = False) -> Reaction:
    """Pause, then send the same request again to the same broker."""
    return Reaction(text, forbidden=frozenset(forbidden), is_not_ready=not_ready, waits=waits)


def end(text: str) -> Reaction:
    """Fatal: this client (member, producer epoch) sends nothing more."""
    return Reaction(text, fatal=True)


def surface(text: str) -> Reaction:
    """Fatal for the operation: the application gets the error, and may try again."""
    return Reaction(text, fatal=True, is_denied=True)


def go_on(text: str) -> Reaction:
    """Continue with the request that the text names: the error is the protocol's normal course."""
    return Reaction(text)


def each(names: str, reaction: Reaction) -> dict[str, Reaction]:
    """A table with the same reaction to each of the errors, whose names are separated by blanks."""
    return dict.fromkeys(names.split(), reaction)
