"""Counts what the state machine behind `recoveries` takes for many errors, without Spark.

    python benchmarks/recoveries.py [--errors 1000000] [--partitions 1]

One client, one connection: each request fails with NOT_LEADER_OR_FOLLOWER on the next of the topic-partitions, a
millisecond after the one before; with more than one topic-partition there is a Metadata answer every 100 ms. Rows are
those that Spark hands to its workers. Prints processor seconds (rows made and fed), the largest resident set, and what
became of the errors; half and all of them, so that growth shows.
"""

import argparse
import resource
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from kafkascope_spark import events, usage, wire
from kafkascope_spark.client_stories import ClientStories
from kafkascope_spark.rows import USED, EventRow, event_row

MS = 1_000_000
BATCH_ROWS = 10_000
ERROR = "NOT_LEADER_OR_FOLLOWER"


def row(section: int, ts_ns: int, rank: int, **struct: dict[str, Any]) -> EventRow:
    """A row as the state machine takes it."""
    return event_row({"client_ip": "10.0.0.1", "section": section, "ts_ns": ts_ns, "rank": rank, **struct})


def connection_rows(n_errors: int) -> Iterator[EventRow]:
    """The connection, and how it was used."""
    columns = [*events.CONNECTION, *events.CONNECTION_LATER, "near_idle_ms", "refused_after"]
    connection = {"conn_id": "c1", "server_ip": "10.0.0.9", "server_port": 9092, "node_id": 1, "protocol": "kafka"}
    connection |= {"client_port": 1, "first_ns": 0, "syn_ns": 0, "synack_ns": 1, "close_kind": "open"}
    yield row(0, 0, 0, connection={**dict.fromkeys(columns), **connection})
    columns = [*usage.KEYS, *usage.FIRST, *events.LAST, "n", "first_no", "last_ns"]
    used = {"conn_id": "c1", "client_id": "app", "api_key": wire.FETCH, "api_name": "Fetch", "api_version": 12}
    used |= {"software_name": "apache-kafka-java", "is_replica": False, "bad": True, "ts_ns": 5, "last_ns": n_errors}
    yield row(0, 5, USED, usage={**dict.fromkeys(columns), **used})


def error_rows(n_errors: int, n_partitions: int) -> Iterator[EventRow]:
    """A failed request and its error each millisecond; Metadata each 100."""
    request = {**dict.fromkeys(events.REQUEST), "conn_id": "c1", "node_id": 1, "api_version": 12, "status": "ok"}
    failed = request | {"api_key": wire.FETCH, "api_name": "Fetch", "error_code": 6, "error_name": ERROR}
    failure = {
        **dict.fromkeys(events.FAILURE),
        "api_key": wire.FETCH,
        "error_name": ERROR,
        "topic": "t",
    }
    for i in range(n_errors):
        at = (10 + i) * MS
        times = {"ts_ns": at, "request_last_ns": at, "response_ns": at + MS // 2, "response_last_ns": at + MS // 2}
        if n_partitions > 1 and i % 100 == 0:
            asked = {"api_key": wire.METADATA, "api_name": "Metadata", "request_id": f"c1-m{i}", "error_code": 0}
            yield row(1, at, 0, request=request | times | asked)
        name = f"c1-{i}"
        yield row(1, at, 0, request=failed | times | {"request_id": name})
        yield row(1, at + MS // 2, 1, failure=failure | {"request_id": name, "partition": i % n_partitions})


def count(found: Counter[str], told: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Adds rows by table, and the errors in the episodes."""
    for table, values in told:
        found[table] += 1
        if table == "recoveries":
            found["errors"] += values["n_errors"]


def measure(n_errors: int, n_partitions: int) -> None:
    """Feeds the rows and prints what it took."""
    began = time.process_time()
    stories = ClientStories((0, (n_errors + 1_000) * MS))
    found: Counter[str] = Counter()
    rows = chain(connection_rows(n_errors), error_rows(n_errors, n_partitions))
    while batch := list(islice(rows, BATCH_ROWS)):
        count(found, stories.feed(batch))
    count(found, stories.finish())
    took = time.process_time() - began
    most_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{n_errors:,} errors on {n_partitions:,} topic-partitions: {took:.1f} s of processor, {most_mb} MB; "
        f"{found['recoveries']:,} episodes with {found['errors']:,} errors, {found['recovery_steps']:,} steps"
    )


def main() -> None:
    """Half of the errors, then all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errors", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=1)
    given = parser.parse_args()
    measure(given.errors // 2, given.partitions)
    measure(given.errors, given.partitions)


if __name__ == "__main__":
    main()
