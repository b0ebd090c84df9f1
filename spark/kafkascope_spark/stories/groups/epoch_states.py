"""The states of a group whose coordinator assigns, as the network shows them, and what leads from one to another.

As in Kafka (org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup.ConsumerGroupState): ASSIGNING from what
makes another group epoch until a response shows it, RECONCILING while members come to it (STABLE does not show: members
come to the epoch one by one). UNSEEN is a group of which nothing is known yet.
"""

import enum

from kafkascope_spark.stories.groups.transitions import Transitions


class EpochState(enum.Enum):
    """What the group does."""

    UNSEEN = enum.auto()
    EMPTY = enum.auto()
    ASSIGNING = enum.auto()
    RECONCILING = enum.auto()


class EpochEvent(enum.Enum):
    """What is observed of it."""

    CHANGE = enum.auto()
    """Something that makes another epoch, or another assignment within the epoch."""
    EPOCH = enum.auto()
    """A member is at an epoch that was not known."""
    TAKE_OVER = enum.auto()
    """A static member comes under a new member id, without a new epoch."""
    LAST_LEAVE = enum.auto()
    """The last member leaves."""


_NEXT = {
    EpochEvent.CHANGE: EpochState.ASSIGNING,
    EpochEvent.EPOCH: EpochState.RECONCILING,
    EpochEvent.TAKE_OVER: EpochState.RECONCILING,
    EpochEvent.LAST_LEAVE: EpochState.EMPTY,
}
"""Each event has the same consequence in all states."""
EPOCH_TRANSITIONS = Transitions(EpochState, EpochEvent, dict.fromkeys(EpochState, _NEXT))
