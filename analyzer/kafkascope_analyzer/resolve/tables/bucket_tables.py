"""Second pass over a bucket: reads its spill and writes the contract's tables."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.lifecycle import SLICE_ROWS, ConnectionFacts, connection_rows
from kafkascope_analyzer.connections.roles import RoleCounts, bootstrap_roles, partition_roles
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.parquet_files import DatasetFile
from kafkascope_analyzer.dataset.tables import (
    CONNECTIONS,
    DNS,
    ERRORS,
    EVENTS,
    OUT_OF_RANGE,
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
from kafkascope_analyzer.dataset.writer_set import WriterSet
from kafkascope_analyzer.memory.free_memory import give_back, stay_below
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.bucket_events import BucketEvents, write_events
from kafkascope_analyzer.resolve.cluster.claims import job_codes, only_claimed, with_claimed_apis
from kafkascope_analyzer.resolve.cluster.membership import Membership
from kafkascope_analyzer.resolve.cluster.partition_answers import COUNTS, FollowerFetches, with_topics
from kafkascope_analyzer.resolve.connections.events import lookup_events
from kafkascope_analyzer.resolve.cut_at_uncovered import without_unknown_idle
from kafkascope_analyzer.resolve.learned import ClusterFacts, Learned
from kafkascope_analyzer.resolve.requests.error_runs import find_error_runs
from kafkascope_analyzer.resolve.tables import contract_rows
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.resolve.tables.contract_rows import Names
from kafkascope_analyzer.resolve.tables.finished_files import Finished
from kafkascope_analyzer.resolve.tables.kept_partitions import KeptPartitions
from kafkascope_analyzer.resolve.tables.parted_table import PartedTable, RowFacts
from kafkascope_analyzer.resolve.tables.request_sums import RequestSums
from kafkascope_analyzer.resolve.tables.undecoded_ranges import OpenStretches
from kafkascope_analyzer.scan.exchanges import BY_LENGTHS
from kafkascope_analyzer.scan.partitions import message_of_spill
from kafkascope_analyzer.scan.record_batches import RECORD_SETS, read_record_sets
from kafkascope_analyzer.scan.spill import END, is_spilled, read_spill, spilled_tables

_LONG_LISTS = ("api_versions_offered", "api_versions_used")
"""Columns of `connections` that no event needs."""
_PLAIN: tuple[tuple[Table, Callable[[pa.Table, Names], pa.Table]], ...] = (
    (RECORDS, contract_rows.record_rows),
    (TCP_EVENTS, contract_rows.event_rows),
    (OUT_OF_RANGE, contract_rows.out_of_range_rows),
)


class BucketTables:
    """Writes one bucket's tables."""

    def __init__(self, bucket: Bucket, facts: ClusterFacts, events: WriterSet[str]) -> None:
        self._bucket = bucket
        cluster, shared, name = facts.cluster, facts.shared, facts.named.name
        self._cluster, self._uncovered = cluster, shared.uncovered
        raw = without_unknown_idle(pa.concat_tables(read_spill(bucket.spill, "connections")), shared.uncovered)
        self._facts = ConnectionFacts(raw, cluster, shared.claims, shared.network_times)
        self._jobs = job_codes(shared.claims, raw["conn_id"])
        self._names = Names(self._facts.names(), cluster.topics, name)
        self._row_facts = RowFacts(self._names, self._facts.raw["close_ns"], shared.uncovered)
        self._messages = bucket.messages(raw["conn_id"])
        connections = self._facts.raw.append_column("node_id", self._facts.node_ids)
        runs = find_error_runs(bucket.spill)
        self._context = BucketContext(connections, cluster.topics, shared, bucket.spill, runs, self._messages)
        self._events = BucketEvents(self._context, name, events)
        self._roles = RoleCounts()
        self._rows: dict[str, int] = {}
        self._kept: dict[str, tuple[DatasetFile, ...]] = {}

    def write(self) -> Finished:
        """Writes all tables of the bucket."""
        for table, make in _PLAIN:
            with self._parted(table, [table.name]) as parted:
                for part, batch in parted.batches(table.name, _of_none(self._facts.raw.num_rows)):
                    parted.write(part, make(batch, self._names))
            self._note(table, parted)
        self._write(TOPOLOGY, contract_rows.topology_rows(self._cluster.topology[self._bucket.spill], self._names))
        self._undecoded()
        self._errors()
        self._requests()
        self._partitions()
        self._record_batches()
        self._partition_roles()
        self._roles.add([bootstrap_roles(self._cluster.bootstrap[self._bucket.spill])])
        roles = self._roles.total()
        self._write_all(ROLE_ROWS, (contract_rows.role_rows(part, self._names) for part in _parts(roles)))
        self._connections(roles)
        return Finished(self._rows, self._kept)

    def _batches(self, name: str) -> Iterator[pa.Table]:
        """Yields the rows of a spilled table, batch by batch."""
        for batch in read_spill(self._bucket.spill, name):
            yield batch
            stay_below(self._bucket.limits.kept_bytes)

    def _undecoded(self) -> None:
        stretches = OpenStretches()
        with self._writer(UNDECODED) as writer:
            for batch in self._batches(UNDECODED.name):
                writer.write(contract_rows.undecoded_rows(stretches.take(batch), self._names))
            writer.write(contract_rows.undecoded_rows(stretches.rest(), self._names))
        self._rows[UNDECODED.name] = writer.n_rows

    def _errors(self) -> None:
        with self._parted(ERRORS, [ERRORS.name]) as parted:
            for part, batch in parted.batches(ERRORS.name):
                rows = contract_rows.error_table_rows(batch, self._names)
                parted.write(part, rows)
                rows = rows.append_column("sent_ns", batch["sent_ns"])
                self._events.take_errors(_with_numbers(rows, batch))
        self._note(ERRORS, parted)

    def _requests(self) -> None:
        for notes in read_spill(self._bucket.spill, "connection_notes"):
            self._facts.note(notes)
        sums = RequestSums(self._bucket, self._uncovered, self._events, self._facts)
        with self._parted(REQUESTS, [REQUESTS.name, BY_LENGTHS]) as parted:
            added_up = sums.resume(parted)
            for spilled in sums.once_more():
                self._events.take_requests(self._finished_requests(self._row_facts.with_answers(spilled)))
            self._add_up(sums, parted, [part for part in parted.parts if part not in added_up and part != END])
            sums.save(parted)
            self._add_up(sums, parted, [part for part in parted.parts if part == END])
            self._roles.add([sums.roles.total()])
            for part, spilled in parted.batches(BY_LENGTHS):
                batch = self._row_facts.with_answers(spilled.filter(self._facts.by_lengths.take(spilled["conn"])))
                batch = with_claimed_apis(batch, self._jobs)
                parted.write(part, contract_rows.request_rows(batch, self._names))
                self._claimed(only_claimed(batch))
        self._note(REQUESTS, parted)

    def _add_up(self, sums: RequestSums, parted: PartedTable, parts: Sequence[int]) -> None:
        """Writes the requests of some parts and adds them to the totals."""
        for part, spilled in parted.batches_of(REQUESTS.name, parts):
            batch = self._row_facts.with_answers(spilled)
            rows = self._finished_requests(batch)
            parted.write(part, rows.select(REQUESTS.schema.names))
            sums.take(batch, rows)
            if part != END:
                sums.keep(spilled, rows)

    def _finished_requests(self, batch: pa.Table) -> pa.Table:
        """Returns rows of `requests` in the form that sources of events take."""
        rows = contract_rows.request_rows(batch, self._names).append_column("status_code", batch["status"])
        return _with_numbers(rows, batch)

    def _claimed(self, batch: pa.Table) -> None:
        """Passes requests of encrypted connections to the events, with the APIs that they seem to belong to."""
        self._events.take_claimed(self._finished_requests(batch))

    def _partitions(self) -> None:
        found = ((name, message_of_spill(name)) for name in spilled_tables(self._bucket.spill))
        messages = {name: message for name, message in found if message is not None}
        kept = KeptPartitions(self._bucket, self._events, self._context)
        with self._parted(PARTITIONS, list(messages)) as parted:
            kept.resume(parted)
            for name, message in messages.items():
                for part, batch in kept.batches(parted, name, message):
                    rows = contract_rows.partition_rows(batch, message, self._names)
                    parted.write(part, rows)
                    self._events.take_partitions(_with_numbers(rows, batch), *message)
                    kept.keep(part, name, batch, self._events.keeps_partitions(rows, *message))
            kept.save(parted)
        self._note(PARTITIONS, parted)

    def _record_batches(self) -> None:
        with self._parted(RECORD_BATCHES, RECORD_SETS[:1]) as parted:
            for part in parted.parts:
                for sets, batches in read_record_sets(self._bucket.spill, part) if part not in parted.is_kept else ():
                    parted.write(part, contract_rows.record_batch_rows(sets, batches, self._names))
        self._note(RECORD_BATCHES, parted)

    def _partition_roles(self) -> None:
        connections = pa.table({name: self._names.conn[name] for name in ("node_id", "client_ip")})
        follower_fetches = FollowerFetches(self._bucket.spill, self._cluster, connections)
        for counts in self._batches(COUNTS):
            counts = with_topics(counts, self._names.topics)
            self._roles.add(partition_roles(counts, *follower_fetches.of(counts)))

    def _connections(self, roles: pa.Table) -> None:
        """Writes the connections, then the events that need all facts about them."""
        kept: list[pa.Table] = []
        with self._writer(CONNECTIONS) as writer:
            for rows in connection_rows(self._facts, roles, self._names.cluster):
                writer.write(rows)
                kept.append(rows.drop_columns(list(_LONG_LISTS)))
                stay_below(self._bucket.limits.kept_bytes)
        self._rows[CONNECTIONS.name] = writer.n_rows
        self._events.finish(pa.concat_tables(kept), self._messages)

    def _writer(self, table: Table) -> TableWriter:
        return self._bucket.writer(table, self._bucket.part)

    def _parted(self, table: Table, spilled: Sequence[str]) -> PartedTable:
        return PartedTable(self._bucket, table, spilled, self._row_facts)

    def _note(self, table: Table, written: PartedTable) -> None:
        """Notes the rows and files of a table."""
        self._rows[table.name] = written.n_rows
        self._kept[table.name] = written.kept

    def _write(self, table: Table, rows: pa.Table) -> None:
        self._write_all(table, [rows])

    def _write_all(self, table: Table, parts: Iterable[pa.Table]) -> None:
        with self._writer(table) as writer:
            for rows in parts:
                writer.write(rows)
                stay_below(self._bucket.limits.kept_bytes)
        self._rows[table.name] = writer.n_rows


def _parts(roles: pa.Table) -> Iterator[pa.Table]:
    """Yields role counts, some thousands at a time."""
    for first in range(0, roles.num_rows, SLICE_ROWS):
        yield roles.take(pa.array(np.arange(first, min(first + SLICE_ROWS, roles.num_rows))))


def _of_none(n: int) -> NDArray[np.bool_]:
    """None of so many connections."""
    return np.zeros(n, np.bool_)


def _with_numbers(rows: pa.Table, spilled: pa.Table) -> pa.Table:
    """Returns the rows with the numbers of their connections and requests, which sources of events use."""
    return rows.append_column("conn", spilled["conn"]).append_column("number", spilled["number"])


def finish_bucket(bucket: Bucket, learned: Learned) -> Finished:
    """Writes the tables of a scanned bucket."""
    finished = [Finished({DNS.name: _write_dns(bucket)})]
    for number, facts in enumerate(learned.clusters):
        part = bucket if len(learned.clusters) == 1 else bucket.of_cluster(number)
        finished.append(_finish_part(part, facts, _lookups(bucket, learned.membership, number)))
        give_back()
    return Finished.joined(finished)


def _finish_part(bucket: Bucket, facts: ClusterFacts, lookups: Iterator[pa.Table]) -> Finished:
    """Writes the tables of the rows that belong to one cluster. lookups: rows of `dns`."""
    finished = Finished({})
    with bucket.event_writers() as events:
        for batch in lookups:
            write_events(events, lookup_events(batch), facts.named.name)
        if is_spilled(bucket.spill, CONNECTIONS.name):
            finished = BucketTables(bucket, facts, events).write()
    return Finished.joined([finished, Finished({EVENTS.name: sum(events.n_rows.values())})])


def _write_dns(bucket: Bucket) -> int:
    """Writes `dns`, also for a bucket without connections: clients may have looked up names. Returns the number of
    rows."""
    with bucket.writer(DNS, bucket.part) as writer:
        for batch in read_spill(bucket.spill, DNS.name):
            writer.write(batch)
    return writer.n_rows


def _lookups(bucket: Bucket, membership: Membership, number: int) -> Iterator[pa.Table]:
    """Yields the rows of `dns` of the clients that talk to the cluster of that number."""
    for rows in read_spill(bucket.spill, DNS.name):
        clients = rows["client_ip"].to_pylist()
        yield rows.filter(pa.array([number in membership.of_lookups(client) for client in clients], pa.bool_()))
