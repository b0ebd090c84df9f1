"""Events about waits of producers and Fetch runs of consumers of a topic-partition, which is their key."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I32
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event, event_kind

Topic = Annotated[str, "topic"]
Partition = Annotated[int, I32, "partition"]
WrittenTopic = Annotated[str | None, "topic; null where the connection is encrypted"]
WrittenPartition = Annotated[int | None, I32, "partition; null where the connection is encrypted"]
NodeId = Annotated[int | None, I32, "node id of the server"]
Count = Annotated[int, "number of requests"]


@event_kind(
    "produce_wait",
    "batches of one producer for one topic-partition that waited half a second or more, or were not "
    "accepted: n consecutive requests with the same outcome; for the first batch that is accepted "
    "after a failure on any connection of the client only accepted_ns is set",
    key_kind="partition",
)
@dataclass(slots=True)
class ProduceWait(Event):
    """Batches of one producer that waited, or that were not accepted. Of the first batch that is accepted after a
    failure only accepted_ns is known."""

    topic: WrittenTopic
    partition: WrittenPartition
    node_id: NodeId
    request_id: Annotated[str | None, "id of the first request"]
    last_request_id: Annotated[str | None, "id of the last request"]
    n: Count
    created_ns: Annotated[
        int | None,
        "when the first record was created, on the capture's clock, without the client's usual linger; when it was "
        "sent, where packets prove no wait before",
    ]
    sent_ns: Annotated[int | None, "first byte of the first request"]
    last_sent_ns: Annotated[int | None, "first byte of the last request"]
    accepted_ns: Annotated[int | None, "first byte of the response that accepted the last of them; null: none did"]
    longest_ns: Annotated[int | None, "longest wait of one of the batches that were accepted"]
    ended_ns: Annotated[int | None, "the last response; null: there was none"]
    error_name: Annotated[str | None, "error with which they were refused"]
    n_records: Annotated[
        int | None,
        "for accepted batches, the records that waited half a second or more; for others all of their "
        "records, those of a batch that was sent several times once",
    ]
    client_instance_id: str = ""


@event_kind(
    "fetch_run",
    "responses to Fetch or ShareFetch with records of one topic-partition, until a record waited for "
    "half a second or more; a consumer that ends, or stalls, may have dropped its last response",
    key_kind="partition",
)
@dataclass(slots=True)
class FetchRun(Event):
    """Responses with records of one topic-partition to one consumer, until a record waited."""

    topic: Topic
    partition: Partition
    node_id: NodeId
    request_id: Annotated[str, "id of the first request"]
    last_request_id: Annotated[str, "id of the last request"]
    n: Count
    n_records: Annotated[int, "records in these responses"]
    asked_ns: Annotated[int | None, "when the first request was sent; null where the capture does not have it"]
    held_until_ns: Annotated[
        int | None,
        "time for which it allowed the broker to wait for more than one record (min_bytes above 1); else null",
    ]
    first_ns: Annotated[int, "last byte of the first response"]
    last_ns: Annotated[int, "last byte of the last response"]
    first_offset: Annotated[int, "offset of the first record in these responses"]
    next_offset: Annotated[int, "offset after their last record"]
    next_accepted_ns: Annotated[
        int | None,
        "time since when the next record was available: a producer's batch was accepted, or a high "
        "watermark is above it; where the capture shows no producer of the topic-partition, its creation "
        "on the capture's clock; null where the capture shows none of these",
    ]
    last_answer_offset: Annotated[int | None, "first offset of the last response"]
    last_answer_accepted_ns: Annotated[int | None, "time since when the record at that offset was available"]
    before_last_ns: Annotated[int, "time of the response before the last one; 0: there is none"]
    client_instance_id: str = ""
