"""How a producer and a consumer of a topic-partition were served (dataset.tables.service_events)."""

from dataclasses import dataclass


@dataclass(slots=True)
class ProduceWait:
    """Batches of one producer that waited, or that were not accepted. Of the first batch that is accepted after a
    failure only accepted_ns is known."""

    topic: str
    partition: int
    node_id: int | None
    request_id: str | None
    last_request_id: str | None
    n: int
    created_ns: int | None
    sent_ns: int | None
    last_sent_ns: int | None
    accepted_ns: int | None
    longest_ns: int | None
    ended_ns: int | None
    error_name: str | None
    client_instance_id: str = ""


@dataclass(slots=True)
class FetchRun:
    """Responses that brought records of one topic-partition to one consumer, until a record waited."""

    topic: str
    partition: int
    node_id: int | None
    request_id: str
    last_request_id: str
    first_ns: int
    last_ns: int
    first_offset: int
    next_offset: int
    next_accepted_ns: int | None
    last_answer_offset: int | None
    last_answer_accepted_ns: int | None
    before_last_ns: int
    client_instance_id: str = ""


SERVICE_EVENTS = {"produce_wait": ProduceWait, "fetch_run": FetchRun}
"""What the events of each kind become."""
