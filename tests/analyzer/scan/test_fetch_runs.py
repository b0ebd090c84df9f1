"""When a consumer got records, from partitions of Fetch responses written by hand."""

import pyarrow as pa

from kafkascope_analyzer.scan.fetch_runs import FetchRuns
from kafkascope_parsers.api_keys import FETCH

S = 1_000_000_000


def response(first_s: float, last_s: float, offset: int) -> dict[str, object]:
    """One record of a topic-partition in a response whose first and last byte came then."""
    return {
        "conn": 0,
        "ts_ns": round(first_s * S),
        "last_ns": round(last_s * S),
        "number": offset,
        "topic": "t",
        "topic_id": None,
        "partition": 0,
        "first_offset": offset,
        "last_offset": offset,
        "first_timestamp_ms": -1,
        "n_records": 1,
        "from_replica": False,
    }


def test_records_are_there_with_the_last_byte_of_their_response() -> None:
    """Recorded: packets above 1300 bytes were dropped on the way from a broker to a consumer. The first bytes of a
    response of 56 kB came at 29.3 s, the last ones at 36.0 s; deliveries: the client had its records at 36.03 s."""
    sent = [response(14.0, 14.0, 30), response(29.3, 36.0, 31), response(36.3, 36.3, 32)]
    types = {name: pa.dictionary(pa.int32(), pa.string()) for name in ("topic_id", "topic")}
    rows = pa.table({name: pa.array([each[name] for each in sent], types.get(name)) for name in sent[0]})
    runs = FetchRuns()
    ended = runs.take(rows, FETCH, "response")
    assert ended is not None
    found = [*ended.to_pylist(), *runs.finish().to_pylist()]
    assert [(run["first_ns"] / S, run["last_ns"] / S, run["first_offset"]) for run in found] == [
        (14.0, 14.0, 30),
        (36.0, 36.3, 31),
    ]
