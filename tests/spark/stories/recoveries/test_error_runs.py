"""A run of errors has the effect that its errors have one by one.

The rows are made here: of a client whose requests fail again and again on one topic-partition, and of what it does on
another connection meanwhile.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, PartitionAccess, Request
from kafkascope_analyzer.dataset.tables.events import RANKS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.machine import ClientStories
from kafkascope_spark.stories.event_decoder import EventRow
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.stalls.stall import StallLimits

from .event_rows import event_row

MS = 1_000_000
EDGE = 32
"""Errors at the begin and the end of a run that stay events of their own."""
END_NS = 3_600_000 * MS
RequestOf = Callable[..., Request]


def connection_row(conn_id: str, api_key: int) -> list[EventRow]:
    whole = {"client_ip": "10.0.0.1", "section": 0, "conn_id": conn_id}
    connection = {"server_ip": "10.0.0.9", "node_id": 1, "protocol": "kafka", "first_ns": 0}
    connection |= {"syn_ns": 0, "synack_ns": 1, "close_kind": "open", "close_ns": None, "last_ns": END_NS}
    usage = {"client_id": "app", "software_name": "apache-kafka-java", "api_key": api_key}
    usage |= {"is_replica": False, "failed": True, "ts_ns": 5, "last_ns": END_NS}
    return [event_row(whole | {"ts_ns": 0, "connection": connection}), event_row(whole | {"ts_ns": 5, "usage": usage})]


def failing(make: RequestOf, i: int, error: str, api_key: int, pause_ms: int) -> list[EventRow]:
    """A request that names the topic-partition, and the error in its answer."""
    at, answered = 100 + i * pause_ms, 100 + i * pause_ms + 3
    request = make(api_key, at, answered, error_code=6, error_name=error, n_errors=1, n_partitions=1)
    run = ErrorRun.of(
        {
            "request_id": request.request_id,
            "last_request_id": request.request_id,
            "api_key": api_key,
            "error_name": error,
            "topic": "t",
            "partition": 0,
            "n": 1,
        }
    )
    run = replace(run, conn_id="c1", ts_ns=answered * MS, last_ns=answered * MS, last_sent_ns=at * MS, waited_us=3_000)
    access = PartitionAccess(
        request.request_id, api_key, False, "t", 0, None, False, False, conn_id="c1", ts_ns=at * MS
    )
    return [
        (("10.0.0.1", 1, at * MS, RANKS["request"]), request),
        (("10.0.0.1", 1, answered * MS, RANKS["error_run"]), run),
        (("10.0.0.1", 1, at * MS, RANKS["partition"]), access),
    ]


def as_run(rows: list[list[EventRow]]) -> list[list[EventRow]]:
    """The same with the middle as one run."""
    middle = rows[EDGE:-EDGE]
    first, last = middle[0][1][1], middle[-1][1][1]
    run = replace(first, n=len(middle), last_request_id=last.request_id, last_ns=last.last_ns)
    run = replace(run, last_sent_ns=last.last_sent_ns, waited_us=3_000 * len(middle), request=middle[0][0][1])
    return [*rows[:EDGE], [(("10.0.0.1", 1, run.ts_ns, RANKS["error_run"]), run)], *rows[-EDGE:]]


def episodes(groups: list[list[EventRow]], others: list[EventRow]) -> list[ClientRecovery]:
    moments = sorted([row for group in groups for row in group] + others, key=lambda row: row[0])
    facts = sorted(
        [*connection_row("c1", api_keys.FETCH), *connection_row("c2", api_keys.METADATA)], key=lambda row: row[0]
    )
    stories = ClientStories((0, END_NS), StallLimits(END_NS, 1_000_000_000))
    rows = [*stories.feed([*facts, *moments]), *stories.finish()]
    return [row for row in rows if isinstance(row, ClientRecovery)]


@pytest.mark.parametrize("error", ["NOT_LEADER_OR_FOLLOWER", "TOPIC_AUTHORIZATION_FAILED", "KAFKA_STORAGE_ERROR"])
@pytest.mark.parametrize("n_errors", [66, 67, 500])
@pytest.mark.parametrize("pause_ms", [5, 200])
def test_a_run_is_told_as_its_errors_are(request_row: RequestOf, error: str, n_errors: int, pause_ms: int) -> None:
    groups = [failing(request_row, i, error, api_keys.FETCH, pause_ms) for i in range(n_errors)]
    one_by_one, together = episodes(groups, []), episodes(as_run(groups), [])
    assert len(one_by_one) == 1
    assert one_by_one[0].n_errors == n_errors
    for row in (*one_by_one, *together):
        lost_us = sum(row.lost_us.values())
        row.lost_broker_us, row.lost_backoff_us, row.lost_stale_us, row.lost_connecting_us = lost_us, 0, 0, 0
    assert together == one_by_one


def test_a_client_that_asks_for_metadata_meanwhile_is_not_blamed(request_row: RequestOf) -> None:
    """After each error it asks on another connection, and so it does what it should; when, the run does not say."""
    groups = [failing(request_row, i, "NOT_LEADER_OR_FOLLOWER", api_keys.FETCH, 200) for i in range(300)]
    asked = [
        (
            ("10.0.0.1", 1, (150 + 200 * i) * MS, RANKS["request"]),
            request_row(api_keys.METADATA, 150 + 200 * i, 152 + 200 * i, conn_id="c2"),
        )
        for i in range(300)
    ]
    (row,) = episodes(as_run(groups), asked)
    assert (row.n_errors, row.wrong_why) == (300, None)
    (row,) = episodes(as_run(groups), [])
    assert (row.n_errors, row.outcome) == (300, "wrong_reaction")
