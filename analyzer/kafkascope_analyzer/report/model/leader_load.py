"""Load of the partition leaders: how evenly they share the clients' reads and writes."""

from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa

from kafkascope_analyzer.report.model.cluster import MOST_BROKERS
from kafkascope_analyzer.report.model.request_counts.count import Count
from kafkascope_analyzer.report.model.request_counts.counts import ReportTables
from kafkascope_analyzer.report.rows import select
from kafkascope_parsers.api_keys import FETCH, PRODUCE, SHARE_FETCH


@dataclass(frozen=True, slots=True)
class LeaderLoad:
    """Bytes and requests that clients wrote to and read from a broker."""

    node_id: Annotated[int, "node id"]
    n_partitions: Annotated[int, "partitions of which it was the leader"]
    n_produce: Annotated[int, "Produce requests"]
    produce_bytes: Annotated[int, "bytes of record batches in them"]
    produce_records: Annotated[int, "records in them"]
    n_fetch: Annotated[int, "clients' Fetch requests"]
    fetch_bytes: Annotated[int, "bytes of record batches in the responses"]
    fetch_records: Annotated[int, "records in them"]

    @property
    def n_bytes(self) -> int:
        """Bytes written plus bytes read."""
        return self.produce_bytes + self.fetch_bytes


@dataclass(frozen=True, slots=True)
class Leaders:
    """Load of the partition leaders, and how evenly they share it."""

    n: Annotated[int, "brokers that clients wrote to or read from"]
    skew: Annotated[float | None, "bytes of the most loaded broker divided by an even share: 1.0 is even"]
    listed: Annotated[tuple[LeaderLoad, ...], "brokers by node id, at most 200"]


_SENT = Count(
    f"""
    select node_id, api_key = {PRODUCE} as is_produce, count(*) as n, coalesce(sum(record_bytes), 0) as record_bytes,
        coalesce(sum(n_records), 0) as n_records
    from {{requests}}
    where api_key in ({PRODUCE}, {FETCH}, {SHARE_FETCH}) and node_id is not null and coalesce(replica_id, -1) < 0
    group by all""",
    {"node_id": pa.int64(), "is_produce": pa.bool_()},
    dict.fromkeys(("n", "record_bytes", "n_records"), ("sum", pa.int64())),
)


def _sum(name: str, which: str) -> str:
    return f"coalesce(sum({name}) filter ({which}), 0)::bigint"


_LOAD = f"""
with led as (
    select node_id, count(distinct subject) as n_led
    from roles join (select conn_id, node_id from connections where node_id is not null) using (conn_id)
    where role = 'partition_leader' and verdict = 'confirmed' and subject <> '' group by node_id
)
select node_id, coalesce(any_value(n_led), 0) as n_partitions,
    {_sum("n", "is_produce")} as n_produce, {_sum("record_bytes", "is_produce")} as produce_bytes,
    {_sum("n_records", "is_produce")} as produce_records,
    {_sum("n", "not is_produce")} as n_fetch, {_sum("record_bytes", "not is_produce")} as fetch_bytes,
    {_sum("n_records", "not is_produce")} as fetch_records
from {{sent}} left join led using (node_id) group by node_id order by node_id
"""


def leader_load(database: ReportTables) -> Leaders:
    """Returns the brokers by node id; no skew with fewer than two leaders."""
    listed = select(database, _LOAD.format(sent=database.counts.of(_SENT)), LeaderLoad)
    loads = [row.n_bytes for row in listed]
    is_shared = len(loads) > 1 and sum(loads) > 0
    skew = 100 * max(loads) * len(loads) // sum(loads) / 100 if is_shared else None
    return Leaders(len(listed), skew, tuple(listed[:MOST_BROKERS]))
