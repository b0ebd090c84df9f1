"""Transition tables of the state machines over groups.

A table is complete: it has an entry for every event in every state, even if the state does not change. So no event is
ignored by mistake; an incomplete table is an error when its module is loaded.
"""

import enum
from collections.abc import Mapping
from typing import Generic, TypeVar

S = TypeVar("S", bound=enum.Enum)
E = TypeVar("E", bound=enum.Enum)


class Transitions(Generic[S, E]):
    """The state that follows each state on each event; the machine begins in the first state of the enumeration."""

    def __init__(self, states: type[S], events: type[E], table: Mapping[S, Mapping[E, S]]) -> None:
        gaps = [f"{s.name} on {e.name}" for s in states for e in events if e not in table.get(s, {})]
        if gaps:
            raise ValueError(f"no transition for {', '.join(gaps)}")
        self._table = table
        self.first: S = next(iter(states))

    def after(self, state: S, event: E) -> S:
        """Returns the next state."""
        return self._table[state][event]
