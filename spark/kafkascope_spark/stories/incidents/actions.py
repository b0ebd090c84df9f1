"""`Action`: advice to one owner about an incident. Owners are the operators of the brokers, the operators of the
network and the owners of clients; each owner gets one action."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

Owner = Literal["brokers", "network", "clients"]
OWNERS: tuple[Owner, ...] = get_args(Owner)


@dataclass(frozen=True, slots=True)
class Action:
    """What an owner should do, or a part of it."""

    owner: Annotated[Owner, "who operates the brokers, who operates the network, or who owns clients"]
    who: Annotated[str | None, "of clients, whose: their library and names; null: all that the incident names"]
    text: Annotated[str, "what to do, with the values that were seen"]


def brokers(text: str) -> Action:
    """Returns an action for the operators of the brokers."""
    return Action("brokers", None, text)


def network(text: str) -> Action:
    """Returns an action for the operators of the network between the hosts."""
    return Action("network", None, text)


def clients(text: str, who: str | None = None) -> Action:
    """Returns an action for the owners of clients. who: which clients; None: all that the incident names."""
    return Action("clients", who, text)


def one_for_each_owner(parts: Iterable[Action]) -> Iterator[Action]:
    """Yields one action per owner, which joins all parts of that owner. Owners are in the order of their first part;
    parts without text are left out."""
    texts: dict[tuple[Owner, str | None], list[str]] = {}
    for part in parts:
        if part.text:
            texts.setdefault((part.owner, part.who), []).append(part.text)
    for (owner, who), listed in texts.items():
        yield Action(owner, who, " ".join([*map(_ended, listed[:-1]), listed[-1]]))


def _ended(text: str) -> str:
    """Returns the text with a full stop: texts that end with a command have none."""
    return text if text.endswith((".", ":", ",")) else f"{text}."
