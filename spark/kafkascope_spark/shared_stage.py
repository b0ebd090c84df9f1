"""The second stage of the story job: what several clients share, one group, transactional id, topic-partition, server
or cause after the other.

It writes the tables transactions (those that were committed, or are cut) and partition_flow, and passes on what stood
still or failed, and the files that were written.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.stories import PARTITION_FLOW, TRANSACTIONS
from kafkascope_analyzer.dataset.stories.broker_states import BrokerState
from kafkascope_analyzer.dataset.stories.partition_flow import PartitionFlow
from kafkascope_analyzer.dataset.stories.rebalances import RebalanceRow
from kafkascope_analyzer.dataset.stories.stalls import Stall
from kafkascope_analyzer.dataset.stories.transactions import TransactionRow
from kafkascope_analyzer.dataset.tables.events import KINDS
from kafkascope_spark.client_stage import GC_OBJECTS, WRITTEN_FILE
from kafkascope_spark.event_reader import values_of
from kafkascope_spark.exchange import NO_CLUSTER, Batches, clusters, with_cluster
from kafkascope_spark.incident_stage import BROKER_STATE, FOUND, REBALANCE, TRANSACTION, found
from kafkascope_spark.stories.clients.passed_on import FAILED_START
from kafkascope_spark.stories.event_decoder import shared_event
from kafkascope_spark.stories.flow.machine import FLOW, Partition
from kafkascope_spark.stories.groups.stories import Group, GroupRow
from kafkascope_spark.stories.incidents.affected_client import AFFECTED_CLIENT
from kafkascope_spark.stories.incidents.listener_use import LISTENER_USE
from kafkascope_spark.stories.incidents.silent_client import SILENT_CLIENT
from kafkascope_spark.stories.incidents.zookeeper_session import ZOOKEEPER_SESSION
from kafkascope_spark.stories.keyed import Keyed, Origin
from kafkascope_spark.stories.recoveries.causes import Causes
from kafkascope_spark.stories.recoveries.client_recovery import RECOVERY
from kafkascope_spark.stories.servers.machine import Server
from kafkascope_spark.stories.stage_rows import BODY, unpacked
from kafkascope_spark.stories.stalls.clients import GROUP, SERVICE
from kafkascope_spark.stories.stalls.machine import ClientService
from kafkascope_spark.stories.stalls.stall import STALL
from kafkascope_spark.stories.transactions.machine import Transactions
from kafkascope_spark.story_writer import StoryRun, StoryWriter

_WRITTEN = (TRANSACTIONS, PARTITION_FLOW)


def shared_stage(run: StoryRun) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers run over each partition of the first stage's rows, sorted; it gives rows of
    FOUND."""

    def tell_shared(batches: Batches) -> Iterator[pa.RecordBatch]:
        gc.set_threshold(GC_OBJECTS, 50, 50)
        writer = StoryWriter(run, _WRITTEN)
        for cluster, of_cluster in clusters(batches):
            writer.begin_cluster(cluster)
            machines = SharedMachines(run, writer)
            for batch in of_cluster:
                machines.feed(batch)
                yield from machines.take_found(cluster)
            machines.finish()
            yield from machines.take_found(cluster)
        written = [found(WRITTEN_FILE, 0, file.path or "", file) for file in writer.close()]
        yield with_cluster(pa.RecordBatch.from_pylist(written, FOUND), NO_CLUSTER)
        pa.default_memory_pool().release_unused()

    return tell_shared


class SharedMachines:
    """The machines of one task over one cluster: rows of the first stage in, rows of FOUND out."""

    def __init__(self, run: StoryRun, writer: StoryWriter) -> None:
        self._writer = writer
        self._failed_parts = failed = self._writer.failed_parts
        self._causes = Causes()
        limits, capture_ns = run.stall_limits, run.capture_ns
        covered = run.uncovered.covered(capture_ns)
        groups = Keyed("group", lambda group_id: Group(group_id, limits), failed)
        ids = Keyed("transactional id", lambda name: Transactions(name, capture_ns[1]), failed)
        services = Keyed("stalls of client", lambda _: ClientService(limits), failed)
        servers = Keyed("broker states of", lambda _: Server(covered), failed)
        partitions = Keyed("flow of topic-partition", lambda _: Partition(), failed)
        self._keyed: dict[str, tuple[Keyed[Any, Any], Callable[[Iterable[Any]], None]]] = {
            GROUP: (groups, self._take_of_groups),
            "transaction": (ids, self._take_transactions),
            SERVICE: (services, self._take_stalls),
            "server": (servers, self._take_broker_states),
            FLOW: (partitions, self._take_flow),
        }
        self._found: list[dict[str, Any]] = []

    def feed(self, batch: pa.RecordBatch) -> None:
        """Take a batch of rows (client_stage.SHARED), sorted by SHARED_ORDER."""
        for (key_kind, key), keyed_rows in groupby(zip(_keys(batch), events_of(batch), strict=True), key=itemgetter(0)):
            rows = map(itemgetter(1), keyed_rows)
            if key_kind in self._keyed:
                keyed, take = self._keyed[key_kind]
                take(keyed.feed(key, rows))
            else:
                self._feeders[key_kind](self, rows)

    def take_found(self, cluster: str) -> Iterator[pa.RecordBatch]:
        """The rows of FOUND since this was last asked for."""
        if self._found:
            yield with_cluster(pa.RecordBatch.from_pylist(self._found, FOUND), cluster)
            self._found = []

    def finish(self) -> None:
        """End the last key of each kind."""
        for keyed, take in self._keyed.values():
            take(keyed.finish())

    def _feed_stalls(self, rows: Iterable[tuple[Origin, Any]]) -> None:
        self._take_stalls(row for _, row in rows)

    def _feed_recoveries(self, rows: Iterable[tuple[Origin, Any]]) -> None:
        for _, recovery in rows:
            cause_of = partial(self._causes.cause_of, recovery)
            recovery.cause_id = self._failed_parts.value("cause of recovery", recovery.recovery_id, None, cause_of)
            self._found.append(found(RECOVERY, recovery.affected_ns, recovery.recovery_id, recovery))

    def _feed_failed_starts(self, rows: Iterable[tuple[Origin, Any]]) -> None:
        starts = (row for _, row in rows)
        self._found += [found(FAILED_START, start.start_ns, start.startup_id, start) for start in starts]

    def _feed_clients(self, rows: Iterable[tuple[Origin, Any]]) -> None:
        clients = (row for _, row in rows)
        self._found += [found(AFFECTED_CLIENT, 0, client.client_instance_id, client) for client in clients]

    def _feed_sessions(self, rows: Iterable[tuple[Origin, Any]]) -> None:
        for _, session in rows:
            self._found.append(found(ZOOKEEPER_SESSION, session.first_ns, session.conn_ids[0], session))

    def _feed_silent_clients(self, rows: Iterable[tuple[Origin, Any]]) -> None:
        silent = (row for _, row in rows)
        self._found += [found(SILENT_CLIENT, s.from_ns, s.client_instance_id, s) for s in silent]

    def _feed_listener_uses(self, rows: Iterable[tuple[Origin, Any]]) -> None:
        uses = (row for _, row in rows)
        self._found += [found(LISTENER_USE, use.first_ns, use.use_id, use) for use in uses]

    def _feed_files(self, rows: Iterable[tuple[Origin, Any]]) -> None:
        files = (row for _, row in rows)
        self._found += [found(WRITTEN_FILE, 0, file.path or "", file) for file in files]

    def _take_of_groups(self, rows: Iterable[GroupRow]) -> None:
        for row in rows:
            if isinstance(row, RebalanceRow):
                self._found.append(found(REBALANCE, row.start_ns or 0, row.rebalance_id, row))
            else:
                self._take_stalls([row])

    def _take_transactions(self, rows: Iterable[TransactionRow]) -> None:
        for row in rows:
            if row.went_well:
                self._writer.take(TRANSACTIONS.name, row)
            else:
                identity = f"{row.transactional_id}:{row.transaction_no}"
                self._found.append(found(TRANSACTION, row.begin_ns or 0, identity, row))

    def _take_stalls(self, rows: Iterable[Stall]) -> None:
        self._found += [found(STALL, row.from_ns, row.stall_id, row) for row in rows]

    def _take_broker_states(self, rows: Iterable[BrokerState]) -> None:
        for row in rows:
            self._found.append(found(BROKER_STATE, row.from_ns, f"{row.server} {row.host}", row))

    def _take_flow(self, rows: Iterable[PartitionFlow]) -> None:
        for row in rows:
            self._writer.take(PARTITION_FLOW.name, row)

    _feeders: dict[str, Callable[["SharedMachines", Iterable[tuple[Origin, Any]]], None]] = {
        STALL: _feed_stalls,
        RECOVERY: _feed_recoveries,
        FAILED_START: _feed_failed_starts,
        AFFECTED_CLIENT: _feed_clients,
        ZOOKEEPER_SESSION: _feed_sessions,
        SILENT_CLIENT: _feed_silent_clients,
        LISTENER_USE: _feed_listener_uses,
        WRITTEN_FILE: _feed_files,
    }


def _keys(batch: pa.RecordBatch) -> Iterator[tuple[str, str]]:
    return zip(*(values_of(batch.column(name)) for name in ("key_kind", "key")), strict=True)


def events_of(batch: pa.RecordBatch) -> Iterator[tuple[Origin, Any]]:
    """Rows of client_stage.SHARED as objects."""
    origins = map(Origin._make, zip(*(values_of(batch.column(name)) for name in Origin._fields), strict=True))
    return zip(origins, map(_body, values_of(batch.column("kind")), batch.column(BODY).to_pylist()), strict=True)


def _body(kind: str, packed: bytes) -> Any:
    body = unpacked(packed)
    return shared_event(kind, body) if kind in KINDS else body
