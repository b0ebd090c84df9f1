"""The states of a classic group as the wire shows them, and what leads from one to another.

As in Kafka (org.apache.kafka.coordinator.group.classic.ClassicGroupState), with UNSEEN for a group of which nothing is
known yet. The coordinator says REBALANCING when it answers REBALANCE_IN_PROGRESS; a group is stable from the first
assignment it gives out, since it has the leader's then.
"""

import enum


class State(enum.Enum):
    """What the group does."""

    UNSEEN = enum.auto()
    EMPTY = enum.auto()
    PREPARING = enum.auto()
    COMPLETING = enum.auto()
    STABLE = enum.auto()


class Sign(enum.Enum):
    """What is seen of it."""

    JOIN = enum.auto()
    """A member asks to join, and not only to be told the generation again."""
    REBALANCING = enum.auto()
    LEAVE = enum.auto()
    """A member leaves and others stay."""
    LAST_LEAVE = enum.auto()
    """The last member leaves."""
    GENERATION = enum.auto()
    """A join is answered with a generation, or a request names one that is not known yet."""
    ASSIGNMENT = enum.auto()
    """A member has its assignment, or shows that the group is stable."""


_S, _E = State, Sign
TRANSITIONS: dict[tuple[State, Sign], State] = {
    (_S.UNSEEN, _E.JOIN): _S.PREPARING,
    (_S.UNSEEN, _E.REBALANCING): _S.PREPARING,
    (_S.UNSEEN, _E.GENERATION): _S.COMPLETING,
    (_S.UNSEEN, _E.ASSIGNMENT): _S.STABLE,
    (_S.EMPTY, _E.JOIN): _S.PREPARING,
    (_S.EMPTY, _E.REBALANCING): _S.PREPARING,
    (_S.EMPTY, _E.GENERATION): _S.COMPLETING,
    (_S.EMPTY, _E.ASSIGNMENT): _S.STABLE,
    (_S.PREPARING, _E.GENERATION): _S.COMPLETING,
    (_S.PREPARING, _E.ASSIGNMENT): _S.STABLE,
    (_S.PREPARING, _E.LAST_LEAVE): _S.EMPTY,
    (_S.COMPLETING, _E.ASSIGNMENT): _S.STABLE,
    (_S.COMPLETING, _E.JOIN): _S.PREPARING,
    (_S.COMPLETING, _E.REBALANCING): _S.PREPARING,
    (_S.COMPLETING, _E.LEAVE): _S.PREPARING,
    (_S.COMPLETING, _E.LAST_LEAVE): _S.EMPTY,
    (_S.STABLE, _E.JOIN): _S.PREPARING,
    (_S.STABLE, _E.REBALANCING): _S.PREPARING,
    (_S.STABLE, _E.LEAVE): _S.PREPARING,
    (_S.STABLE, _E.LAST_LEAVE): _S.EMPTY,
}
"""What is not here changes nothing."""


def after(state: State, sign: Sign) -> State:
    """The state that follows."""
    return TRANSITIONS.get((state, sign), state)


def begins_a_round(state: State, sign: Sign) -> bool:
    """Whether the sign begins another rebalance."""
    return state is not State.PREPARING and after(state, sign) is State.PREPARING
