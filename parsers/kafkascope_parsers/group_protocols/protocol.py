"""The facts about a group protocol that all parts of the program use, as one object for each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkascope_parsers.schema import keys_by_name

Fields = Mapping[str, str]
"""Field of an event of a group (request or response body of the kind group_request) -> field of the message."""


@dataclass(frozen=True, slots=True)
class GroupMessages:
    """The fields of the request and the response of an API that become the fields of an event."""

    request: Fields
    response: Fields = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    """For heartbeats that carry the whole protocol: fields of the request that are null if nothing changes."""
    assignment: tuple[str, ...] = ()
    """For heartbeats that carry the whole protocol: fields of the response that make up an assignment, which the
    response has if the first is not null. One: topic-partitions by topic id; several: active tasks, and standby tasks
    of all other fields."""


@dataclass(frozen=True, slots=True)
class GroupProtocol:
    """A group protocol.

    apis: names of the APIs that only its members use, or those who remove them; messages: those of them of which events
    have the bodies.
    """

    name: str
    words: str
    """Its name in a report."""
    apis: tuple[str, ...]
    messages: Mapping[str, GroupMessages]
    members_assign: bool
    """Whether a member assigns to all members at once (a generation); else the coordinator assigns, to one member after
    the other (a group epoch)."""
    brokers_set_session_timeout: bool
    """Whether the session timeout is a setting of brokers and groups; else members send theirs."""
    shares_partitions: bool = False
    """Whether several members read a partition at a time."""
    has_tasks: bool = False
    """Whether members are assigned tasks in place of topic-partitions."""

    @property
    def keys(self) -> frozenset[int]:
        """The keys of its APIs."""
        return frozenset(keys_by_name()[name] for name in self.apis)

    @property
    def round_words(self) -> str:
        """The name of the result of a rebalance in a report."""
        return "generation" if self.members_assign else "group epoch"


def same_names(*names: str) -> Fields:
    """Fields that have the same names in an event and in the message."""
    return {name: name for name in names}


EPOCH_REQUEST = same_names("member_id", "member_epoch")
EPOCH_RESPONSE = same_names("member_id", "member_epoch", "heartbeat_interval_ms")
"""Fields of the responses to all heartbeats that carry the whole protocol."""
SUBSCRIPTION: Fields = {"subscribed_topics": "subscribed_topic_names"}
