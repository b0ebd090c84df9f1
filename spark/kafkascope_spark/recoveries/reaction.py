"""One reaction to an error, and the few kinds of it that the tables are written in.

Steps are those of the table recovery_steps. A reaction says which steps lead on, not how often: how long a client may
go without them is in conduct.
"""

from dataclasses import dataclass

NO_STEPS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reaction:
    """What to do about an error.

    first: steps of which one has to come before a retry at the same node is right; none: a retry is right by itself.
    forbidden: steps that show that the client misunderstood. fatal: the client object, or what it wanted, is at an
    end. is_denied: fatal by configuration or permission, so that the application may ask again. is_not_ready: the
    cluster needs time (election, loading); waiting is the broker's time. is_stale: the client asked the wrong
    broker; time until it knows better is lost to stale metadata. waits: a retry without a pause is wrong.
    """

    text: str
    first: frozenset[str] = NO_STEPS
    forbidden: frozenset[str] = NO_STEPS
    fatal: bool = False
    is_denied: bool = False
    is_not_ready: bool = False
    is_stale: bool = False
    is_normal: bool = False
    waits: bool = False


def ask(text: str, *first: str, forbidden: tuple[str, ...] = ()) -> Reaction:
    """One of the steps, then a retry."""
    return Reaction(text, frozenset(first), frozenset(forbidden))


def find_owner(text: str, *first: str) -> Reaction:
    """The same, where the client asked a broker that is not in charge (any longer)."""
    return Reaction(text, frozenset(first), is_stale=True)


def back_off(text: str, *, forbidden: tuple[str, ...] = (), not_ready: bool = False, waits: bool = False) -> Reaction:
    """A pause, then the same again at the same broker."""
    return Reaction(text, forbidden=frozenset(forbidden), is_not_ready=not_ready, waits=waits)


def end(text: str) -> Reaction:
    """Nothing more from this client object (member, producer epoch)."""
    return Reaction(text, fatal=True)


def surface(text: str) -> Reaction:
    """An error for the application, which may ask again."""
    return Reaction(text, fatal=True, is_denied=True)


def normal(text: str) -> Reaction:
    """The protocol's own course."""
    return Reaction(text, is_normal=True)


def each(names: str, reaction: Reaction) -> dict[str, Reaction]:
    """The reaction to each of the errors, named with blanks between."""
    return dict.fromkeys(names.split(), reaction)
