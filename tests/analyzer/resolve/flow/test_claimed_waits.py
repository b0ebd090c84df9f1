"""When encrypted producers seem to have waited, from exchanges written by hand. Times are milliseconds."""

from pathlib import Path

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.resolve.cluster.claims import CLAIMS
from kafkascope_analyzer.resolve.flow import claimed_waits as module
from kafkascope_analyzer.resolve.flow.claimed_waits import claimed_waits
from kafkascope_analyzer.resolve.flow.produce_facts import WAITS
from kafkascope_parsers.exchanges import RESPONSE_RECORDS

MS = 1_000_000
CONNECTIONS = {"a": (0, 2000), "b": (0, None), "c": (0, None)}
"""The first byte of each connection, and when it was closed."""
OK_BYTES, ERROR_BYTES = 68, 109


def exchange(conn, sent, answered, response_bytes=OK_BYTES, request_bytes=232):
    return {
        "conn": conn,
        "number": sent,
        "ts_ns": sent * MS,
        "request_last_ns": sent * MS,
        "response_ns": None if answered is None else answered * MS,
        "request_bytes": request_bytes,
        "response_bytes": None if answered is None else response_bytes,
        RESPONSE_RECORDS: 0 if answered is None else 1,
        "status": REQUEST_STATUSES.index("unanswered" if answered is None else "ok"),
        "api_key": None,
    }


@pytest.fixture
def waits_of(monkeypatch):
    """From when to when, of which connection; jobs: of the connections a, b and c, each of which has a client of the
    number given."""

    def waits(*exchanges, jobs=("produce", "produce", "produce"), clients=(0, 0, 1)):
        types = {"api_key": pa.int16(), "status": pa.int8()}
        columns = {
            name: pa.array([row[name] for row in exchanges], types.get(name, pa.int64())) for name in exchanges[0]
        }
        monkeypatch.setattr(module, "read_spill", lambda spill, name, names: iter([pa.table(columns).select(names)]))
        claims = pa.table(
            {
                "conn_id": list(CONNECTIONS),
                "client": pa.array(clients),
                "claimed_requests": pa.array([9] * 3),
                "claimed_job": pa.array(jobs, pa.string()),
                "claimed_job_why": pa.nulls(3, pa.string()),
                "claimed_first_bytes": pa.nulls(3, pa.int64()),
            },
            CLAIMS,
        )
        closes = pa.array([close and close * MS for _, close in CONNECTIONS.values()], pa.int64())
        known = {"conn_id": list(CONNECTIONS), "close_ns": closes, "last_ns": pa.array([9000 * MS] * 3)}
        found = claimed_waits({Path("spill"): pa.table(known)}, claims)
        assert found.schema == WAITS
        rows = found.select(["conn_id", "sent_ns", "accepted_ns", "n"]).to_pylist()
        return [(r["conn_id"], r["sent_ns"] // MS, r["accepted_ns"] and r["accepted_ns"] // MS, r["n"]) for r in rows]

    return waits


def test_what_is_answered_in_time_waits_for_nothing(waits_of):
    assert waits_of(exchange(0, 100, 110), exchange(0, 200, 699)) == []


def test_a_late_response_ends_its_wait(waits_of):
    assert waits_of(exchange(1, 100, 110), exchange(1, 1000, 3000)) == [("b", 1000, 3000, 1)]


def test_waits_that_overlap_are_one(waits_of):
    late = [exchange(1, 100, 110), exchange(1, 1000, 3000), exchange(1, 1500, 3100), exchange(1, 5000, 6000)]
    assert waits_of(*late) == [("b", 1000, 3100, 2), ("b", 5000, 6000, 1)]


def test_without_a_response_the_clients_next_one_ends_it_once_the_connection_has_ended(waits_of):
    others = [exchange(1, 1600, 1610), exchange(1, 2500, 2510), exchange(1, 2600, 2610)]
    assert waits_of(exchange(0, 1500, None), *others) == [("a", 1500, 2510, 1)]


def test_another_client_ends_nothing(waits_of):
    assert waits_of(exchange(0, 1500, None), exchange(2, 2500, 2510)) == [("a", 1500, None, 1)]


def test_a_late_response_with_the_message_of_an_error_ends_nothing(waits_of):
    exchanges = [exchange(1, 100, 110), exchange(1, 1000, 3000, ERROR_BYTES), exchange(1, 3200, 3210)]
    assert waits_of(*exchanges) == [("b", 1000, 3210, 1)]


def test_only_connections_that_seem_to_produce_count(waits_of):
    late = exchange(1, 1000, 3000)
    assert waits_of(late, jobs=("produce", "fetch", "produce")) == []
    assert waits_of(late, jobs=("produce", None, "produce"), clients=(0, None, 1)) == []


def test_what_has_the_lengths_of_another_request_does_not_count(waits_of):
    """Metadata, whose response is longer than its request."""
    assert waits_of(exchange(1, 1000, 3000, response_bytes=406, request_bytes=45)) == []
