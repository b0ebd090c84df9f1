"""The states of a group whose coordinator assigns, as packets show them, and the transitions between them.

The states are Kafka's (org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup.ConsumerGroupState): ASSIGNING
from the cause of another group epoch until a response shows the epoch, RECONCILING while members reach it. STABLE is
not visible, because members reach the epoch one by one. UNSEEN is a group of which nothing is known yet.
"""

import enum

from kafkascope_spark.stories.groups.transitions import Transitions


class EpochState(enum.Enum):
    """State of the group."""

    UNSEEN = enum.auto()
    EMPTY = enum.auto()
    ASSIGNING = enum.auto()
    RECONCILING = enum.auto()


class EpochEvent(enum.Enum):
    """An observed event of the group."""

    CHANGE = enum.auto()
    """A cause of another epoch, or of another assignment within the epoch."""
    EPOCH = enum.auto()
    """A member is at a new epoch."""
    TAKE_OVER = enum.auto()
    """A static member joins under a new member id, without a new epoch."""
    LAST_LEAVE = enum.auto()
    """The last member leaves."""


_NEXT = {
    EpochEvent.CHANGE: EpochState.ASSIGNING,
    EpochEvent.EPOCH: EpochState.RECONCILING,
    EpochEvent.TAKE_OVER: EpochState.RECONCILING,
    EpochEvent.LAST_LEAVE: EpochState.EMPTY,
}
"""The next state of each event, which is the same from all states."""
EPOCH_TRANSITIONS = Transitions(EpochState, EpochEvent, dict.fromkeys(EpochState, _NEXT))
