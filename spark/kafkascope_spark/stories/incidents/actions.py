"""`Action`: what one owner is advised to do about an incident. Each owner has one: who operates the brokers, who
operates the network, who owns clients of a library."""

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
    """For who operates the brokers."""
    return Action("brokers", None, text)


def network(text: str) -> Action:
    """For who operates what lies between hosts."""
    return Action("network", None, text)


def clients(text: str, who: str | None = None) -> Action:
    """For who owns clients. who: which ones; None: all that the incident names."""
    return Action("clients", who, text)


def one_for_each_owner(parts: Iterable[Action]) -> Iterator[Action]:
    """The parts of each owner as one, in the order in which they are named first; parts without text are none."""
    texts: dict[tuple[Owner, str | None], list[str]] = {}
    for part in parts:
        if part.text:
            texts.setdefault((part.owner, part.who), []).append(part.text)
    for (owner, who), listed in texts.items():
        yield Action(owner, who, " ".join(listed))
