"""The table `stalls`: times in which clients and groups were not served."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafkascope_analyzer.dataset.row_types import I32, TIME, StoryRow, declares

StallKind = Literal["produce", "consume", "commit", "membership", "transaction", "metadata", "admin"]
SEVERE_MS = 10_000
"""A stall this long, or one that did not end, has severity error."""


@declares(
    "stalls",
    "wait of a client or group for a service of the cluster, at least as long as --stall says (1 s)",
    sorted_by=("from_ns", "stall_id"),
    salted=("stall_id", "incident_id"),
)
@dataclass(slots=True)
class Stall(StoryRow):
    """A row of stories/stalls. incident_id is set later, when the incidents are made."""

    stall_id: Annotated[str, "the stall: the same for the same capture"]
    kind: Annotated[
        StallKind,
        "the service: produce (records waited to be accepted), consume (accepted records waited to be fetched), "
        "commit (of offsets), membership (in the group), transaction, metadata, admin (what the controller "
        "decides, such as CreateTopics; only where an incident explains the wait)",
    ]
    client_instance_id: Annotated[
        str | None, "client that waited; for a partition of a group, the member that read it next or last"
    ]
    client_ip: Annotated[str | None, "address of that client"]
    client_id: Annotated[str | None, "its client id"]
    group_id: Annotated[str | None, "group that waited; null where no group did"]
    transactional_id: Annotated[str | None, "transactional id that waited; null where none did"]
    topic: Annotated[str | None, "topic; null where the wait is not about one"]
    partition: Annotated[int | None, I32, "partition; null where the wait is not about one"]
    node_id: Annotated[int | None, I32, "broker that it waited for first; null where the capture does not show it"]
    from_ns: Annotated[int, TIME, "since when it waited"]
    to_ns: Annotated[int | None, TIME, "when the wait ended; null where it still waited at the end of the capture"]
    served: Annotated[
        bool | None,
        "whether it was served again then; false where the client gave up or ended before; null where it still "
        "waited at the end of the capture, or where no file covers the time from then on, a member of the group "
        "that was not captured got the partition, or a broker became its leader with which no client in the capture "
        "talked",
    ]
    claimed: Annotated[
        bool,
        "whether the stall is guessed from the lengths of TLS records: its topic-partition is not known, and it may "
        "be of several clients of one address",
    ]
    waited_ms: Annotated[
        int,
        "how long it waited, or had waited at the end of the capture, milliseconds; for produce and consume the "
        "longest time that records waited, if some were served late again and again",
    ]
    n_attempts: Annotated[int | None, "requests that were sent for it during the stall; null for consume"]
    error_names: Annotated[tuple[str, ...], "errors of these requests, sorted"]
    incident_id: Annotated[str | None, "incident that it belongs to"]
    evidence: Annotated[tuple[str, ...], "request ids that prove it, in order of time; at most 32"]
    n_records_late: Annotated[
        int, "for produce: records that were accepted half a second or more after they were created; a lower limit"
    ]
    n_records_failed: Annotated[
        int,
        "for produce: records that were refused for good, or not accepted before the client gave up or ended; a lower "
        "limit",
    ]

    unasked_ms: int = 0
    """For consume: longest time in which no Fetch was in flight for the records; 0 if one was for most of the stall."""

    @property
    def is_severe(self) -> bool:
        """Whether it was long or did not end."""
        return self.to_ns is None or self.waited_ms >= SEVERE_MS


STALLS = Stall.TABLE
