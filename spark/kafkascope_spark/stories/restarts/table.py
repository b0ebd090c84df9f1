"""The table `broker_restarts`: brokers that went down or came back with another release, and the stalls that this
caused."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I32, TIME, StoryRow, declares
from kafkascope_parsers.broker_release import KRAFT_MODE, ZOOKEEPER_MODE

_MODES = (ZOOKEEPER_MODE, KRAFT_MODE)


@declares(
    "broker_restarts",
    "restart of a broker",
    sorted_by=("down_ns", "subject", "incident_id"),
    salted=("incident_id", "other_incidents", "stalls"),
)
@dataclass(frozen=True, slots=True)
class BrokerRestart(StoryRow):
    """A row of stories/broker_restarts."""

    node_id: Annotated[int | None, I32, "broker; null where it is known by its address alone"]
    subject: Annotated[str, "the broker in words: node 2 (10.0.0.2:9092)"]
    begin_ns: Annotated[
        int, TIME, "when the first leader or coordinator moved away from it, else when its connections ended"
    ]
    down_ns: Annotated[
        int, TIME, "when its connections ended; where only the release shows the restart, its last response before"
    ]
    back_ns: Annotated[int | None, TIME, "when it served somebody again; null where the capture does not show that"]
    release_before: Annotated[str | None, "release of Kafka before, by what it offered (ApiVersions): 3.9, 3.0 to 3.3"]
    release_after: Annotated[str | None, "release of Kafka afterwards"]
    mode_before: Annotated[str | None, _MODES, "how the cluster kept its metadata before, if the API versions show it"]
    mode_after: Annotated[str | None, _MODES, "how the cluster kept its metadata afterwards"]
    incident_id: Annotated[str | None, "incident that shows it; null where only the broker's release does"]
    other_incidents: Annotated[tuple[str, ...], "other incidents to which the stalls below belong, sorted"]
    clients: Annotated[tuple[str, ...], "client instances that waited because of it, sorted"]
    stalls: Annotated[
        tuple[str, ...], "stalls (stall_id) because of it, the longest first; each counts for one restart"
    ]
    longest_ms: Annotated[int | None, "the longest of its stalls, milliseconds; null where there is none"]
    is_over: Annotated[bool, "whether all its stalls were over when the capture ended"]

    @property
    def is_upgrade(self) -> bool:
        """Whether both releases are known and differ."""
        return None not in (self.release_before, self.release_after) and self.release_before != self.release_after


BROKER_RESTARTS = BrokerRestart.TABLE
