"""The states of a classic group as the network shows them, and what leads from one to another.

As in Kafka (org.apache.kafka.coordinator.group.classic.ClassicGroupState), with UNSEEN for a group of which nothing is
known yet. A group is stable from the first assignment that its coordinator gives out, since it has the leader's then.
"""

import enum

from kafkascope_spark.stories.groups.transitions import Transitions


class ClassicState(enum.Enum):
    """What the group does."""

    UNSEEN = enum.auto()
    EMPTY = enum.auto()
    PREPARING = enum.auto()
    COMPLETING = enum.auto()
    STABLE = enum.auto()


class ClassicEvent(enum.Enum):
    """What is observed of it."""

    JOIN = enum.auto()
    """A member asks to join, and not only to receive the generation again."""
    REBALANCING = enum.auto()
    """The coordinator answers REBALANCE_IN_PROGRESS."""
    LEAVE = enum.auto()
    """A member leaves and others stay."""
    LAST_LEAVE = enum.auto()
    """The last member leaves."""
    GENERATION = enum.auto()
    """A response to a join has a generation that was not known, or a request names one."""
    TAKE_OVER = enum.auto()
    """A static member comes under a new member id, without a new generation."""
    ASSIGNMENT = enum.auto()
    """A member has its assignment, or shows that the group is stable."""


_UNSEEN, _EMPTY, _PREPARING, _COMPLETING, _STABLE = ClassicState
_ROUND = {
    ClassicEvent.JOIN: _PREPARING,
    ClassicEvent.REBALANCING: _PREPARING,
    ClassicEvent.GENERATION: _COMPLETING,
    ClassicEvent.TAKE_OVER: _STABLE,
    ClassicEvent.ASSIGNMENT: _STABLE,
}
"""What has the same consequence in all states."""
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
