"""Second pass over a bucket: reads its spill and writes the contract's tables."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.connections.learn import Cluster
from kafkascope_analyzer.connections.lifecycle import ConnectionFacts, connection_rows
from kafkascope_analyzer.connections.roles import added_up, bootstrap_roles, partition_roles, request_roles
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.tables import (
    CONNECTIONS,
    DNS,
    ERRORS,
    PARTITIONS,
    RECORD_BATCHES,
    RECORDS,
    REQUESTS,
    ROLE_ROWS,
    TCP_EVENTS,
    TOPOLOGY,
    UNDECODED,
)
from kafkascope_analyzer.dataset.writer import TableWriter
from kafkascope_analyzer.ingest import finish_rows
from kafkascope_analyzer.ingest.finish_rows import Names
from kafkascope_analyzer.ingest.record_batches import WRITTEN_SCHEMA, read_record_sets
from kafkascope_analyzer.ingest.spill import read_spill

_SORT = {
    "requests": ("client_ip", "client_id", "ts_ns", "request_packet_no"),
    "topology": ("ts_ns",),
    "tcp_events": ("ts_ns",),
    "dns": ("ts_ns",),
}
_PLAIN: tuple[tuple[Table, Callable[[pa.Table, Names], pa.Table]], ...] = (
    (RECORDS, finish_rows.record_rows),
    (ERRORS, finish_rows.error_table_rows),
    (TCP_EVENTS, finish_rows.event_rows),
    (UNDECODED, finish_rows.undecoded_rows),
)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where a bucket's spill lies, where its dataset is written, and its files' place below a table's directory."""

    spill: Path
    dataset: Path
    part: str


class BucketFinish:
    """Writes one bucket's tables."""

    def __init__(self, bucket: Bucket, cluster: Cluster) -> None:
        self._bucket = bucket
        self._cluster = cluster
        self._facts = ConnectionFacts(pa.concat_tables(read_spill(bucket.spill, "connections")), cluster)
        topics = cluster.topics
        self._names = Names(
            self._facts.names(), pa.array(list(topics), pa.string()), pa.array(list(topics.values()), pa.string())
        )
        self._roles: list[pa.Table] = []
        self.rows: dict[str, int] = {}

    def write(self) -> dict[str, int]:
        """Writes all tables of the bucket. Returns rows per table."""
        for table, make in _PLAIN:
            with self._writer(table) as writer:
                for batch in read_spill(self._bucket.spill, table.name):
                    writer.write(make(batch, self._names))
            self.rows[table.name] = writer.n_rows
        with self._writer(DNS) as writer:
            for batch in read_spill(self._bucket.spill, DNS.name):
                writer.write(batch)
        self.rows[DNS.name] = writer.n_rows
        self._write(TOPOLOGY, finish_rows.topology_rows(self._cluster.topology[self._bucket.spill], self._names))
        self._requests()
        self._partitions()
        self._record_batches()
        self._partition_roles()
        roles = added_up([*self._roles, bootstrap_roles(self._facts.raw, self._cluster.bootstrap)])
        self._write(ROLE_ROWS, finish_rows.role_rows(roles, self._names))
        self._write(CONNECTIONS, connection_rows(self._facts, roles))
        return self.rows

    def _requests(self) -> None:
        for notes in read_spill(self._bucket.spill, "connection_notes"):
            self._facts.note(notes)
        with self._writer(REQUESTS) as writer:
            for batch in read_spill(self._bucket.spill, "requests"):
                writer.write(finish_rows.request_rows(batch, self._names))
                self._facts.note_requests(batch)
                self._roles += request_roles(batch)
        self.rows[REQUESTS.name] = writer.n_rows

    def _partitions(self) -> None:
        with self._writer(PARTITIONS) as writer:
            for batch in read_spill(self._bucket.spill, "partitions"):
                writer.write(finish_rows.partition_rows(batch, self._names))
        self.rows[PARTITIONS.name] = writer.n_rows

    def _record_batches(self) -> None:
        place = self._bucket.dataset / RECORD_BATCHES.name / self._bucket.part
        with TableWriter(place, WRITTEN_SCHEMA) as writer:
            for sets, batches in read_record_sets(self._bucket.spill):
                writer.write(finish_rows.record_batch_rows(sets, batches, self._names))
        self.rows[RECORD_BATCHES.name] = writer.n_rows

    def _partition_roles(self) -> None:
        for counts in read_spill(self._bucket.spill, "partition_counts"):
            topic = self._names.topics(counts["topic"], counts["topic_id"])
            counts = counts.set_column(counts.column_names.index("topic"), "topic", topic)
            self._roles += partition_roles(counts, self._follows(counts))

    def _follows(self, counts: pa.Table) -> pa.Array:
        """Whether a follower answered: a broker had sent the consumer there, and another node led at the time."""
        if not self._cluster.followers:
            return pa.repeat(pa.scalar(False), counts.num_rows)
        conn = self._names.conn.select(["client_ip", "node_id"]).to_pydict()
        return pa.array([self._is_follower(row, conn) for row in counts.to_pylist()], pa.bool_())

    def _is_follower(self, row: dict[str, Any], conn: dict[str, list[Any]]) -> bool:
        node_id = conn["node_id"][row["conn"]]
        if row["confirmed_ns"] is None or node_id is None:
            return False
        if (conn["client_ip"][row["conn"]], row["topic"], row["partition"], node_id) not in self._cluster.followers:
            return False
        leader = self._cluster.leaders.at(row["topic"], row["topic_id"], row["partition"], row["confirmed_ns"])
        return leader is not None and leader != node_id

    def _writer(self, table: Table) -> TableWriter:
        return TableWriter(
            self._bucket.dataset / table.name / self._bucket.part, table.schema, sort_by=_SORT.get(table.name, ())
        )

    def _write(self, table: Table, rows: pa.Table) -> None:
        with self._writer(table) as writer:
            writer.write(rows)
        self.rows[table.name] = writer.n_rows


def finish_bucket(bucket: Bucket, cluster: Cluster) -> dict[str, int]:
    """Writes the tables of a scanned bucket. Returns rows per table."""
    if not (bucket.spill / "connections.arrow").exists():
        return {}
    return BucketFinish(bucket, cluster).write()
