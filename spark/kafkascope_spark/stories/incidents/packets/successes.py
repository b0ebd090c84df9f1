"""Last successful requests of clients before an error refused the same: until then nothing had failed there."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import CONNECTIONS, PARTITIONS, REQUESTS
from kafkascope_spark.stories.incidents.packets.meanwhile import rows_within

LONGEST_NS = 60_000_000_000
"""Longest time before the first error in which a success counts: an earlier one says little about the begin of the
fault."""
_OF_REQUESTS = ["conn_id", "api_key", "group_id", "transactional_id"]
_OF_PARTITIONS = ["conn_id", "api_key", "topic", "partition"]


class Wanted(NamedTuple):
    """A kind of request of a client: its API, and the topic-partition, group or transactional id that it names.
    resource is empty if it names none."""

    client_ip: str
    client_id: str | None
    api_key: int
    resource: str


@dataclass(frozen=True, slots=True)
class Before:
    """A question: when did one of these requests last succeed before a time?"""

    at_ns: int
    wanted: frozenset[Wanted]


@dataclass(frozen=True, slots=True)
class _Connection(Row):
    """The client of a connection."""

    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    client_ip: str
    client_ids: tuple[str, ...]


def last_successes(dataset: Dataset | None, questions: Sequence[Before]) -> list[int | None]:
    """Returns, for each question, the time of the last successful response to one of its requests; None if there is
    none within LONGEST_NS, or no dataset. Raises UsageError where a table cannot be read. Memory: one batch, and the
    connections of the clients."""
    found: list[int | None] = [None] * len(questions)
    if dataset is None or not questions:
        return found
    clients = _clients(dataset, {each.client_ip for question in questions for each in question.wanted})
    spans = [(each.at_ns - LONGEST_NS, each.at_ns - 1) for each in questions]
    for number, key, at_ns in _succeeded(dataset, spans):
        conn_id, api_key, resource = key
        for client_ip, client_id in clients.get(conn_id, ()):
            if Wanted(client_ip, client_id, api_key, resource) in questions[number].wanted:
                found[number] = max(found[number] or 0, at_ns)
    return found


def _clients(dataset: Dataset, addresses: Iterable[str]) -> dict[str, list[tuple[str, str | None]]]:
    """Returns the client address and client ids of each connection from the given addresses, by conn_id. A client id of
    None is added to each."""
    found: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for row in read(dataset, _Connection, one_of("client_ip", sorted(addresses))):
        found[row.conn_id] = [(row.client_ip, name) for name in (*row.client_ids, None)]
    return found


def _succeeded(dataset: Dataset, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, tuple[str, int, str], int]]:
    """Yields the time of the last response without an error in each span, by connection, API and resource."""
    columns = [*_OF_REQUESTS, "response_ns", "n_errors", "throttle_ms"]
    for number, rows in rows_within(dataset, REQUESTS, columns, "response_ns", spans):
        went_well = (pc.equal(pc.fill_null(rows[name], 0), 0) for name in ("n_errors", "throttle_ms"))
        is_ok = reduce(pc.and_, went_well)
        for conn_id, api_key, *named, at_ns in _last(rows.filter(is_ok), _OF_REQUESTS, "response_ns"):
            for resource in {*named, ""} - {None}:
                yield number, (conn_id, api_key, resource), at_ns
    columns = [*_OF_PARTITIONS, "ts_ns", "direction", "error_code"]
    for number, rows in rows_within(dataset, PARTITIONS, columns, "ts_ns", spans):
        is_ok = pc.and_(pc.equal(rows["direction"], "response"), pc.equal(pc.fill_null(rows["error_code"], 0), 0))
        for conn_id, api_key, topic, partition, at_ns in _last(rows.filter(is_ok), _OF_PARTITIONS, "ts_ns"):
            yield number, (conn_id, api_key, f"{topic}-{partition}"), at_ns


def _last(rows: pa.Table, names: list[str], at: str) -> Iterator[tuple[Any, ...]]:
    """Yields each combination of values of some columns, followed by the last time of its rows. at: the column with the
    time."""
    last = rows.group_by(names, use_threads=False).aggregate([(at, "max")])
    return zip(*(last[name].to_pylist() for name in (*names, f"{at}_max")), strict=True)
