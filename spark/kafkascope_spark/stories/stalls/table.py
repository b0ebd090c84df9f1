"""`stalls`: who was not served, from when to when."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from kafkascope_analyzer.dataset.row_types import I32, TIME, StoryRow, declares

StallKind = Literal["produce", "consume", "commit", "membership", "transaction", "metadata", "admin"]
STALL_KINDS: tuple[StallKind, ...] = get_args(StallKind)
SEVERE_MS = 10_000
"""A wait as long as this, or one that did not end, is an error."""


@declares(
    "stalls",
    "wait of a client or group for a service of the cluster, at least as long as --stall says (1 s)",
    sorted_by=("from_ns", "stall_id"),
    salted=("stall_id", "incident_id"),
)
@dataclass(slots=True)
class Stall(StoryRow):
    """A row of stories/stalls. What finds it does not know its incident."""

    stall_id: Annotated[str, "the stall: the same for the same capture"]
    kind: Annotated[
        StallKind,
        "the service: produce (records waited to be accepted), consume (accepted records waited to be fetched), "
        "commit (of offsets), membership (a place in the group), transaction, metadata, admin (what the controller "
        "decides, such as CreateTopics; only where an incident explains the wait)",
    ]
    client_instance_id: Annotated[
        str | None, "client that waited; of a group's partition, the member that read it next or last"
    ]
    client_ip: Annotated[str | None, "address of that client"]
    client_id: Annotated[str | None, "its client id"]
    group_id: Annotated[str | None, "group that waited; null where no group did"]
    transactional_id: Annotated[str | None, "transactional id that waited; null where none did"]
    topic: Annotated[str | None, "topic; null where the wait is not about one"]
    partition: Annotated[int | None, I32, "partition; null where the wait is not about one"]
    node_id: Annotated[int | None, I32, "broker that was waited on first; null where the capture does not show it"]
    from_ns: Annotated[int, TIME, "since when it waited"]
    to_ns: Annotated[int | None, TIME, "when the wait ended; null where it still waited at the end of the capture"]
    served: Annotated[
        bool | None,
        "whether it was served again then; false where the client gave up or ended before; null where it still "
        "waited at the end of the capture, or where no file covers the time from then on, a member of the group "
        "that was not captured got the partition, or a broker leads it with which no client in the capture talked",
    ]
    claimed: Annotated[
        bool,
        "whether what it waited for follows from the lengths of TLS records alone: it seems to have stalled, at no "
        "topic-partition that is known, and may be several clients of one address",
    ]
    waited_ms: Annotated[
        int,
        "how long it waited, or had waited at the end of the capture, milliseconds; of produce and consume the longest "
        "time that records waited, where some were served late again and again",
    ]
    n_attempts: Annotated[int | None, "requests that were sent for it meanwhile; null for consume"]
    error_names: Annotated[tuple[str, ...], "errors that they got, sorted"]
    incident_id: Annotated[str | None, "incident that it belongs to"]
    evidence: Annotated[tuple[str, ...], "request ids that prove it, in order of time; at most 32"]
    n_records_late: Annotated[
        int, "of produce, records that were accepted half a second or more after they were created: at least so many"
    ]
    n_records_failed: Annotated[
        int,
        "of produce, records that were refused for good, or not accepted before the client gave up or ended: at least "
        "so many",
    ]

    unasked_ms: int = 0
    """For consume, where nobody asked for the records for most of the time: for how long, at the most."""

    @property
    def is_severe(self) -> bool:
        """Whether it was long, or did not end."""
        return self.to_ns is None or self.waited_ms >= SEVERE_MS


STALLS = Stall.TABLE
