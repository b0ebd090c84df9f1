"""Clients that stood still by themselves, from the rows that say when each sent nothing (silent_client)."""

from collections.abc import Iterable, Iterator, Sequence

from kafkascope_spark.error_codes import errors_about
from kafkascope_spark.findings.wording import client, listed
from kafkascope_spark.incidents.failure import FOLLOWS_NS, SECOND, Failure, Row

SAME_NS = SECOND
"""Clients that fell silent, and went on, within so much of each other stood still together."""
AFTER_SILENCE = errors_about(
    "membership", "static membership", "group", "connection", "producer epoch", "transaction", "fetch session"
)
"""What a client may meet when it goes on: its group went on without it, brokers closed its connections, its transaction
was aborted."""


def client_failures(silent: Iterable[Row], rebalances: Sequence[Row]) -> list[Failure]:
    """The failures, in order of time; each takes the rebalances in which a group went on without one of its clients. A
    client that leaves its group as soon as it goes on was closing (kafkajs waits for its last Fetch first)."""
    found: list[Failure] = []
    stopped = (row for row in silent if not any(_was_closing(row, rebalance) for rebalance in rebalances))
    for row in sorted(stopped, key=lambda r: (r["from_ns"], r["client_instance_id"])):
        together = next((f for f in found if _is_together(f, row)), None)
        if together is None:
            together = Failure("client", "", row["from_ns"], row["to_ns"])
            found.append(together)
        together.silences.append(row)
        together.client_instance_ids.add(row["client_instance_id"])
        together.hosts |= {row["client_ip"]}
        together.end_ns = None if row["to_ns"] is None else max(together.end_ns or 0, row["to_ns"])
    for failure in found:
        failure.subject = _subject(failure)
        failure.rebalances = [r for r in rebalances if _went_on_without(r, failure)]
    return found


def _was_closing(silence: Row, rebalance: Row) -> bool:
    """Whether the rebalance began because the client left, as soon as it went on."""
    left = any(
        departed["how"] == "left" and departed["client_instance_id"] == silence["client_instance_id"]
        for departed in rebalance["departed"] or ()
    )
    return left and silence["to_ns"] is not None and 0 <= (rebalance["start_ns"] or 0) - silence["to_ns"] <= SAME_NS


def _is_together(failure: Failure, row: Row) -> bool:
    first = failure.silences[0]
    ends = first["to_ns"], row["to_ns"]
    ended = ends == (None, None) if None in ends else abs(ends[0] - ends[1]) <= SAME_NS
    return ended and row["from_ns"] - first["from_ns"] <= SAME_NS


def _subject(failure: Failure) -> str:
    return listed(sorted({client(s["client_id"], s["client_ip"]) for s in failure.silences}))


def _went_on_without(rebalance: Row, failure: Failure) -> bool:
    """Whether the group removed one of the clients, whose last request came before the client fell silent."""
    return any(
        departed["client_instance_id"] == silence["client_instance_id"]
        and departed["how"] not in ("left", None)
        and (departed["last_seen_ns"] or 0) <= silence["from_ns"] + SECOND
        and (rebalance["start_ns"] or 0) >= silence["from_ns"]
        and (silence["to_ns"] is None or rebalance["start_ns"] <= silence["to_ns"] + FOLLOWS_NS)
        for departed in rebalance["departed"] or ()
        for silence in failure.silences
    )


def groups_of(failure: Failure) -> Iterator[str]:
    """The groups of the clients that were silent."""
    for silence in failure.silences:
        yield from silence["groups"]
