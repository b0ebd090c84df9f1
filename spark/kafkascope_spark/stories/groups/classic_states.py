"""The states of a classic group as packets show them, and the transitions between them.

The states are Kafka's (org.apache.kafka.coordinator.group.classic.ClassicGroupState), with UNSEEN for a group of which
nothing is known yet. A group is stable from the first assignment that the coordinator returns, because it has the
leader's assignment then.
"""

import enum

from kafkascope_spark.stories.groups.transitions import Transitions


class ClassicState(enum.Enum):
    """State of the group."""

    UNSEEN = enum.auto()
    EMPTY = enum.auto()
    PREPARING = enum.auto()
    COMPLETING = enum.auto()
    STABLE = enum.auto()


class ClassicEvent(enum.Enum):
    """An observed event of the group."""

    JOIN = enum.auto()
    """A member sends JoinGroup, and not only to receive the present generation again."""
    REBALANCING = enum.auto()
    """The coordinator responds REBALANCE_IN_PROGRESS."""
    LEAVE = enum.auto()
    """A member leaves and others stay."""
    LAST_LEAVE = enum.auto()
    """The last member leaves."""
    GENERATION = enum.auto()
    """A response to JoinGroup, or a request, has a new generation number."""
    TAKE_OVER = enum.auto()
    """A static member joins under a new member id, without a new generation."""
    ASSIGNMENT = enum.auto()
    """A member gets its assignment, or its requests show that the group is stable."""


_UNSEEN, _EMPTY, _PREPARING, _COMPLETING, _STABLE = ClassicState
_ROUND = {
    ClassicEvent.JOIN: _PREPARING,
    ClassicEvent.REBALANCING: _PREPARING,
    ClassicEvent.GENERATION: _COMPLETING,
    ClassicEvent.TAKE_OVER: _STABLE,
    ClassicEvent.ASSIGNMENT: _STABLE,
}
"""Transitions that are the same in all states."""
_MEMBERS_LEAVE = {ClassicEvent.LEAVE: _PREPARING, ClassicEvent.LAST_LEAVE: _EMPTY}
CLASSIC_TRANSITIONS = Transitions(
    ClassicState,
    ClassicEvent,
    {
        _UNSEEN: _ROUND | {ClassicEvent.LEAVE: _UNSEEN, ClassicEvent.LAST_LEAVE: _UNSEEN},
        _EMPTY: _ROUND | {ClassicEvent.LEAVE: _EMPTY, ClassicEvent.LAST_LEAVE: _EMPTY},
        _PREPARING: _ROUND | _MEMBERS_LEAVE,
        _COMPLETING: _ROUND | _MEMBERS_LEAVE,
        _STABLE: _ROUND | _MEMBERS_LEAVE,
    },
)


def begins_a_round(state: ClassicState, event: ClassicEvent) -> bool:
    """Whether the event begins another rebalance."""
    after = CLASSIC_TRANSITIONS.after(state, event)
    return state is not ClassicState.PREPARING and after is ClassicState.PREPARING
