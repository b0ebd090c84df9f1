"""Jobs by lengths and times. That they are those that keys show is measured on recordings (benchmarks.tls_lengths)."""

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.claimed_jobs import ClaimedJobs, claimed_apis
from kafkascope_analyzer.dataset.tables.connections import CLAIMED_JOBS
from kafkascope_parsers.exchanges import RESPONSE_RECORDS

MS = 1_000_000
FETCH, EMPTY_FETCH = (98, 300, 3, 5), (98, 21, 1, 500)
PRODUCE, SLOW_PRODUCE = (231, 68, 1, 5), (231, 68, 1, 3000)
HEARTBEAT, COMMIT, METADATA = (92, 16, 1, 2), (140, 45, 1, 6), (40, 900, 1, 2)
NO_RESPONSE = (98, None, 0, None)


def exchanges(*made, first_number=1):
    """Bytes of the request and the response, TLS records of the response, latency in ms, of one connection."""
    asked, answered, records, latency = zip(*made, strict=True)
    sent = [n * 1000 * MS for n in range(len(made))]
    rows = {
        "conn": pa.array([0] * len(made), pa.int64()),
        "number": pa.array(range(first_number, first_number + len(made)), pa.int64()),
        "request_bytes": pa.array(asked, pa.int64()),
        "response_bytes": pa.array(answered, pa.int64()),
        "request_last_ns": pa.array(sent, pa.int64()),
        "response_ns": pa.array(
            [None if ms is None else at + ms * MS for at, ms in zip(sent, latency, strict=True)], pa.int64()
        ),
        RESPONSE_RECORDS: pa.array(records, pa.int64()),
    }
    return pa.table(rows)


def job_of(*made):
    jobs = ClaimedJobs(1)
    jobs.note(exchanges(*made))
    columns = jobs.columns(slice(0, 1), np.array([True]))
    assert columns["claimed_requests"].to_pylist() == [len(made)]
    return columns["claimed_job"][0].as_py()


@pytest.mark.parametrize(
    ("job", "made"),
    [
        ("fetch", [FETCH] * 20),
        ("fetch", [FETCH] * 8 + [EMPTY_FETCH] * 12),
        ("fetch", [FETCH] * 12 + [HEARTBEAT, COMMIT] * 4),
        ("fetch", [EMPTY_FETCH] * 30),
        ("produce", [PRODUCE] * 18 + [METADATA] * 3),
        ("produce", [SLOW_PRODUCE] * 20),
        ("coordinator", [HEARTBEAT] * 3 + [COMMIT] * 40),
        (None, [METADATA] * 30),
        (None, [(98, 21, 1, 1)] * 30),
        (None, [FETCH] * 9),
        (None, [FETCH] * 9 + [NO_RESPONSE] * 9),
    ],
)
def test_the_job_is_the_one_that_the_exchanges_show(job, made):
    assert job_of(*made) == job


@pytest.mark.parametrize(
    ("job", "exchange", "api"),
    [
        ("fetch", FETCH, 1),
        ("fetch", EMPTY_FETCH, 1),
        ("fetch", NO_RESPONSE, 1),
        ("fetch", METADATA, -1),
        ("produce", PRODUCE, 0),
        ("produce", NO_RESPONSE, 0),
        ("produce", METADATA, -1),
        ("coordinator", HEARTBEAT, 12),
        ("coordinator", COMMIT, -1),
        ("coordinator", NO_RESPONSE, -1),
        (None, FETCH, -1),
    ],
)
def test_an_exchange_is_of_the_api_of_the_job_where_its_lengths_do_not_speak_against_it(job, exchange, api):
    code = -1 if job is None else CLAIMED_JOBS.index(job)
    assert claimed_apis(exchanges(exchange), np.array([code])).tolist() == [api]


def test_the_first_exchange_of_a_connection_is_as_of_api_versions_unless_its_lengths_are_those_of_its_job():
    jobs = np.array([CLAIMED_JOBS.index("produce")])
    assert claimed_apis(exchanges(METADATA, PRODUCE, first_number=0), jobs).tolist() == [18, 0]
    assert claimed_apis(exchanges(PRODUCE, first_number=0), jobs).tolist() == [0]
    assert claimed_apis(exchanges(METADATA, FETCH, first_number=0), np.array([-1])).tolist() == [18, -1]
