"""First pass over a bucket: takes packets, and writes spilled rows and message tables.

A bucket is the connections whose flow hash falls into it; buckets share nothing. Columns that need the whole capture
(node ids, topic names, the client side where the capture lacks the SYN) are filled in by the second pass (resolve)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.identity import CONNECTION_ID, connection_ids, id_texts, request_ids
from kafkascope_analyzer.connections.partition_counts import count_partitions
from kafkascope_analyzer.dataset.limits_hit import (
    CONNECTIONS,
    STREAM_BUFFER,
    TLS_CANDIDATES,
    TLS_HANDSHAKES,
    TLS_WAITING,
    WAITING_QUESTIONS,
    WAITING_REQUESTS,
)
from kafkascope_analyzer.dataset.tables import DNS, OUT_OF_RANGE
from kafkascope_analyzer.memory.limits import Limits
from kafkascope_analyzer.scan.batches import BATCHES, ProducedBatches
from kafkascope_analyzer.scan.block_ends import BLOCK_ENDS, block_end
from kafkascope_analyzer.scan.clock_samples import CLOCKS, ClockSamples
from kafkascope_analyzer.scan.cluster_ids import CLUSTER_IDS, NO_ID, ClusterIds
from kafkascope_analyzer.scan.connection_notes import ConnectionNotes
from kafkascope_analyzer.scan.connection_state import connection_table, server_side_by_port
from kafkascope_analyzer.scan.dns import DnsExchanges
from kafkascope_analyzer.scan.exchanges import BY_LENGTHS
from kafkascope_analyzer.scan.fetch_runs import FETCH_RUNS, FetchRuns
from kafkascope_analyzer.scan.liveness_spans import spill_spans
from kafkascope_analyzer.scan.message_rows import NamedPartitions, RequestRows, ResponseRows, with_frames
from kafkascope_analyzer.scan.messages import MessageWriters
from kafkascope_analyzer.scan.muted_connections import MutedConnections
from kafkascope_analyzer.scan.named_in_parts import NAMED, named_in_part
from kafkascope_analyzer.scan.offsets_in_parts import OFFSETS, offsets_in_part
from kafkascope_analyzer.scan.partitions import spill_name
from kafkascope_analyzer.scan.record_batches import RANGED_HEADERS, record_sets, spill_record_sets
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_analyzer.scan.records import OpenedBatches, spill_records
from kafkascope_analyzer.scan.scan_facts import (
    ERROR_PICKERS,
    MESSAGE_PICKERS,
    PARTITION_PICKERS,
    REQUEST_PICKERS,
    Picker,
)
from kafkascope_analyzer.scan.spill import Spill
from kafkascope_analyzer.scan.topology_dedup import FirstOccurrences
from kafkascope_analyzer.scan.unanswered import UNANSWERED_PARTITIONS, unanswered_partitions
from kafkascope_analyzer.scan.value_ranges import OutOfRange, headers_within_ranges, within_ranges
from kafkascope_parsers.api_keys import FETCH
from kafkascope_parsers.exchanges import Exchanges, Messages, Requests, Responses, SettledBlock, overhead_rows
from kafkascope_parsers.growing import Growing
from kafkascope_parsers.link.segments import Segments
from kafkascope_parsers.tcp.reader import TcpStreams
from kafkascope_parsers.tcp.state import E_LIMIT
from kafkascope_parsers.tcp.streams import Streams
from kafkascope_parsers.tls import KeyLog

_CONNECTION_ROWS = 1 << 15
"""Connections that are turned into rows at a time."""
_EVENT_COLUMNS = {
    "conn": "connection",
    "ts_ns": "ts_ns",
    "packet_no": "packet_no",
    "seq": "stream_offset",
    "bytes": "bytes",
    "side": "side",
    "kind": "kind",
}


_STATE = (
    "tcp",
    "_exchanges",
    "_n_stream_buffer",
    "_n_messages",
    "_ids",
    "_news",
    "_notes",
    "_cluster_ids",
    "_servers",
    "_consumers",
    "_batches",
    "_clocks",
    "_muted",
    "dns",
    "ledger",
    "_undecoded",
    "_first_capture",
    "_capture_id",
)
"""The attributes of a BucketScan that make up its saved state."""


@dataclass(slots=True)
class Ledger:
    """Bytes of all directions of a bucket. stream = decoded + undecoded, each counted separately; missing: bytes in
    gaps.
    """

    stream_bytes: int = 0
    decoded_bytes: int = 0
    undecoded_bytes: int = 0
    missing_bytes: int = 0


class BucketScan:
    """Scans one bucket, block after block. `part` is the path of this bucket's files below a table's directory."""

    def __init__(
        self,
        spill: Spill,
        messages: MessageWriters,
        share: tuple[int, int] = (0, 1),
        *,
        detail: RecordDetail = RecordDetail.COUNTS,
        limits: Limits | None = None,
        key_log: KeyLog | None = None,
    ) -> None:
        self._spill = spill
        self._detail = detail
        self.messages = messages
        self._limits = limits or Limits()
        self.tcp = TcpStreams(*share, waiting_limit=self._limits.waiting_bytes)
        self._key_log = KeyLog() if key_log is None else key_log
        self._exchanges = Exchanges(
            waiting_limit=self._limits.waiting_requests, batch_bytes=self._limits.batch_bytes, key_log=self._key_log
        )
        self._n_stream_buffer = 0
        self._n_messages: Counter[str] = Counter()
        """Rows of the message tables in files of earlier parts."""
        self._ids = Growing[np.bytes_](CONNECTION_ID)
        self.conn_ids = id_texts(self._ids.rows)
        self._news = FirstOccurrences()
        self._notes, self._cluster_ids = ConnectionNotes(), ClusterIds()
        self._servers: dict[tuple[int, int, int], int] = {}
        """Numbers of servers with facts about a cluster whose id was not known yet."""
        self._consumers, self._batches, self._clocks = FetchRuns(), ProducedBatches(), ClockSamples()
        self._muted = MutedConnections()
        self.dns = DnsExchanges()
        self.ledger = Ledger()
        self._undecoded = Growing(np.int64)
        self._first_capture = Growing(np.int32)
        self._capture_id = 0

    def assemble(self, buf: NDArray[np.uint8], segments: Segments, capture_id: int) -> Streams:
        """Takes the segments of one block of a file. Returns its streams, for `push`; neither they nor anything else
        refers to the block's memory afterwards."""
        self._capture_id = capture_id
        streams = self.tcp.push(buf, segments)
        self._open_connections()
        return streams

    def push(self, streams: Streams) -> None:
        """Decodes the streams of a block, and writes and spills its rows."""
        self._take(streams, self._exchanges.push(streams, self))

    def finish(self) -> dict[str, int]:
        """Ends the scan: gives up open requests and frames, and spills all rows. Returns rows per message table; the
        last ones are written when `messages` is closed.
        """
        streams = self.tcp.finish()
        self._open_connections()
        self._take(streams, self._exchanges.finish(streams, self, self.tcp.connections["close_ts_ns"] > 0))
        for spans in self.tcp.open_spans():
            spill_spans(self._spill, spans)
        sides = self.tcp.sides
        self.tcp.connections["close_kind"] = self.tcp.close_kinds()
        self._spill_undecoded(overhead_rows(self.tcp.connections, self._exchanges.tls.overhead))
        for first in range(0, len(self.conn_ids), _CONNECTION_ROWS):
            self._spill.write("connections", self._connections(slice(first, first + _CONNECTION_ROWS)))
        self.dns.give_up()
        self._spill.write(DNS.name, self.dns.take_rows())
        self._spill.write(FETCH_RUNS, self._consumers.finish())
        self._spill.write(CLOCKS, self._clocks.clocks())
        self._spill.close()
        self._gather_facts(UNANSWERED_PARTITIONS, unanswered_partitions(self._spill.directory))
        self._spill.close()
        self.ledger.stream_bytes = int(sides["stream_bytes"].sum())
        self.ledger.missing_bytes = int(sides["missing_bytes"].sum() + sides["cut_bytes"].sum())
        self.ledger.undecoded_bytes = int(self._undecoded.rows.sum())
        return dict(self._n_messages + Counter(self.messages.rows()))

    def _connections(self, part: slice) -> pa.Table:
        """Returns some connections as rows for the second pass."""
        rows = connection_table(
            self.tcp.connections[part],
            self.tcp.sides[2 * part.start : 2 * part.stop],
            self._exchanges.connections[part],
            self.conn_ids[part],
            self._undecoded.rows[part],
        )
        rows = rows.append_column("is_decrypted", pa.array(self._exchanges.tls.is_decrypted[part]))
        overhead = self._exchanges.tls.overhead.reshape(-1, 2).sum(1)[part]
        rows = rows.append_column("tls_bytes", pa.array(overhead))
        evidence = self._exchanges.length_evidence.slice(part.start, rows.num_rows)
        for name in evidence.column_names:
            rows = rows.append_column(name, evidence[name])
        return rows.append_column("capture_id", pa.array(self._first_capture.rows[part]))

    def begin_end(self, messages: MessageWriters) -> None:
        """Ends all files, and notes the connections, topics and offsets in them. Rows that `finish` writes go into
        files of their own, and messages into those of `messages`."""
        self.messages.close()
        self._spill.close()
        for named in named_in_part(self._spill.directory, self._spill.part):
            self._spill.gather(NAMED, named)
        self._gather_facts(OFFSETS, offsets_in_part(self._spill.directory, self._spill.part))
        self._spill.begin_end()
        self._n_messages += Counter(self.messages.rows())
        self.messages = messages

    def state(self) -> dict[str, Any]:
        """Returns the state of open connections, to be saved, without the spill and the messages."""
        return {name: getattr(self, name) for name in _STATE} | {"n_rows": self._spill.n_rows}

    def resume(self, state: dict[str, Any]) -> None:
        """Continues where the scan with this state stopped."""
        for name in _STATE:
            setattr(self, name, state[name])
        self._exchanges.tls.unlock(self._key_log)
        self._spill.n_rows = state["n_rows"]
        self.conn_ids = id_texts(self._ids.rows)

    def limits_hit(self) -> dict[str, int]:
        """Returns how much was left out or given up at each limit, by the names of hit_limits."""
        return {
            CONNECTIONS: self.tcp.n_over_limit,
            STREAM_BUFFER: self._n_stream_buffer,
            WAITING_REQUESTS: int(self._exchanges.connections["n_given_up"].sum()),
            WAITING_QUESTIONS: self.dns.n_given_up,
            TLS_HANDSHAKES: self._exchanges.n_handshakes_given_up,
            TLS_WAITING: self._exchanges.tls.n_not_tried,
            TLS_CANDIDATES: self._exchanges.tls.n_partly_tried,
        }

    def requests(self, requests: Requests) -> pa.Table:
        """Writes and spills the rows of a block's requests; returns the columns of OF_REQUESTS."""
        rows = RequestRows(requests, self._capture_id)
        for raw in requests.messages:
            self._write_messages(raw)
            messages = within_ranges(raw, rows.found)
            rows.take(messages)
            self._notes.requests(messages)
            self._cluster_ids.note(messages)
            self._spill_records(messages, rows.found)
            if messages.message.api_key in MESSAGE_PICKERS:
                facts, pick = MESSAGE_PICKERS[messages.message.api_key]
                self._gather_facts(facts, pick(messages.columns, messages.frames))
        self._spill_partitions(rows.partitions())
        self._spill_topology(rows.topology())
        self._spill.gather(OUT_OF_RANGE.name, rows.out_of_range())
        return rows.columns()

    def responses(self, responses: Responses) -> pa.Table:
        """Writes and spills the rows of a block's responses; returns the columns of OF_RESPONSES."""
        rows = ResponseRows(responses, self._capture_id)
        for raw in responses.messages:
            self._write_messages(raw)
            messages = within_ranges(raw, rows.found)
            rows.take(messages)
            self._notes.responses(messages)
            self._cluster_ids.note(messages)
            self._spill_records(messages, rows.found)
        self._spill_partitions(rows.partitions())
        errors = rows.errors()
        self._spill.gather("errors", errors)
        self._spill_facts(ERROR_PICKERS, errors)
        self._spill_topology(rows.topology())
        self._spill.gather(OUT_OF_RANGE.name, rows.out_of_range())
        return rows.columns()

    def _take(self, streams: Streams, block: SettledBlock) -> None:
        """Takes the results of a block's streams."""
        self.tcp.keep_rest(streams, block.consumed)
        self._spill_batches(self._batches.settle(block.settled))
        self._spill.gather(BLOCK_ENDS, block_end(self._spill.n_rows))
        self.ledger.decoded_bytes += block.decoded_bytes
        self._spill_undecoded(block.undecoded)
        settled = self._muted.with_muted_time(block.settled)
        self._spill.gather("requests", settled)
        self._spill_facts(REQUEST_PICKERS, settled)
        self._clocks.note_clients(settled)
        self._spill.gather("requests", self._with_captures(block.orphans))
        self._spill.gather(BY_LENGTHS, self._with_captures(block.by_lengths))
        self._notes.greetings(block.greetings)
        self.dns.streams(streams, self.tcp.sides, self._capture_id)
        self._spill.write(DNS.name, self.dns.take_rows())
        self._spill.gather("connection_notes", self._notes.take())
        self._spill.gather(CLUSTER_IDS, self._cluster_ids.take())
        self._spill_events()
        spill_spans(self._spill, self.tcp.spans)

    def _spill_undecoded(self, undecoded: pa.Table) -> None:
        self._spill.gather("undecoded", undecoded.append_column("capture_id", self._captures(undecoded.num_rows)))
        np.add.at(self._undecoded.rows, undecoded["conn"].to_numpy(), undecoded["bytes"].to_numpy())

    def _with_captures(self, exchanges: pa.Table) -> pa.Table:
        """Returns exchanges, with the current file for those to which no handler gave one."""
        at = exchanges.schema.get_field_index("capture_id")
        return exchanges.set_column(at, exchanges.schema.field(at), self._captures(exchanges.num_rows))

    def _captures(self, n: int) -> pa.Array:
        """Returns the number of the current file, for n rows."""
        return pa.array(np.full(n, self._capture_id, np.int32))

    def _open_connections(self) -> None:
        """Adds connections that TCP has found since the last block."""
        known = len(self.conn_ids)
        fresh, sides = self.tcp.connections[known:], self.tcp.sides[2 * known :]
        if len(fresh):
            addresses = np.stack([sides["address_high"], sides["address_low"]], 1).reshape(-1, 2, 2)
            self._ids.add(connection_ids(addresses, sides["port"].reshape(-1, 2), fresh["first_ts_ns"]))
            self.conn_ids = id_texts(self._ids.rows)
            by_port = server_side_by_port(sides["port"])
            self._exchanges.open_connections(fresh["opened_by_syn"] != 0, by_port)
            self._undecoded.add(np.zeros(len(fresh), np.int64))
            self._cluster_ids.open_connections(len(fresh))
            self._first_capture.add(np.full(len(fresh), self._capture_id, np.int32))

    def _write_messages(self, messages: Messages) -> None:
        conn = messages.connections
        keys = {
            "request_id": request_ids(self.conn_ids, conn, messages.numbers),
            "conn_id": self.conn_ids.take(pa.array(conn)),
            "ts_ns": pa.array(np.ascontiguousarray(messages.frames["ts_ns"])),
        }
        self.messages.write(messages.columns, keys)

    def _spill_topology(self, facts: pa.Table) -> None:
        """Spills facts about clusters that are new. Facts about different clusters are kept apart; where no cluster id
        is known yet, facts from different servers are."""
        scopes = self._cluster_ids.numbers_of(facts["conn"].to_numpy())
        unnamed = np.flatnonzero(scopes == NO_ID)
        if len(unnamed):
            conns, which = np.unique(facts["conn"].to_numpy()[unnamed], return_inverse=True)
            sides = self.tcp.sides[2 * conns + 1 - np.maximum(self._exchanges.connections["client_side"][conns], 0)]
            servers = zip(*(sides[name].tolist() for name in ("address_high", "address_low", "port")), strict=True)
            numbers = [self._servers.setdefault(server, len(self._servers)) for server in servers]
            scopes[unnamed] = NO_ID - 1 - np.array(numbers, np.int64)[which]
        self._spill.gather("topology", self._news.only_first(facts, scopes))

    def _spill_records(self, messages: Messages, found: OutOfRange) -> None:
        if self._detail < RecordDetail.BATCHES:
            return
        sets, batches = record_sets(messages.columns, np.arange(len(messages.columns)))
        if len(batches):
            rows = sets["row"].to_numpy()
            sets = with_frames(sets, messages.frames, rows, messages.numbers[rows], messages.message.direction)
            frames = np.repeat(messages.rows[rows], sets["n_batches"].to_numpy())
            if self._detail >= RecordDetail.RECORDS:
                payloads = self._detail >= RecordDetail.PAYLOADS
                inflated = self._limits.inflated_bytes
                opened = OpenedBatches(messages.columns.buf, batches, frames, payloads, inflated)
                spill_records(self._spill, sets, opened, found)
            headers_within_ranges(batches, RANGED_HEADERS, frames, found)
            spill_record_sets(self._spill, sets, batches)

    def _spill_partitions(self, named: Iterator[NamedPartitions]) -> None:
        for message, rows in named:
            if message.api_key is not None and message.direction is not None:
                self._spill.gather("partition_counts", count_partitions(rows, message.api_key, message.direction))
                self._spill_served(rows, message.api_key, message.direction)
                is_fetched = (message.api_key, message.direction) == (FETCH, "response")
                kept = rows.drop_columns(["asked_ns", "last_ns", *(() if is_fetched else ["from_replica"])])
                self._spill.write(spill_name(message.api_key, message.direction), kept)
                for name, pick in PARTITION_PICKERS.items():
                    self._gather_facts(name, pick(kept, message.api_key, message.direction))

    def _spill_served(self, rows: pa.Table, api_key: int, direction: str) -> None:
        """Spills the rows about records of producers and consumers."""
        self._clocks.take(rows, api_key, direction)
        self._gather_facts(FETCH_RUNS, self._consumers.take(rows, api_key, direction))
        self._spill_batches(self._batches.take(rows, api_key, direction))

    def _spill_batches(self, batches: pa.Table | None) -> None:
        """Spills batches of producers at once, because they are read block by block."""
        if batches is not None:
            self._spill.write(BATCHES, batches)

    def _spill_facts(self, pickers: Mapping[str, Picker], rows: pa.Table) -> None:
        """Spills the rows that the connections of other buckets need."""
        for name, pick in pickers.items():
            self._gather_facts(name, pick(rows))

    def _gather_facts(self, name: str, facts: pa.Table | None) -> None:
        if facts is not None:
            self._spill.gather(name, facts)

    def _spill_events(self) -> None:
        events = self.tcp.events
        n = len(events)
        if n:
            self._n_stream_buffer += int((events["kind"] == E_LIMIT).sum())
            columns = {name: pa.array(np.ascontiguousarray(events[field])) for name, field in _EVENT_COLUMNS.items()}
            columns["capture_id"] = pa.array(np.full(n, self._capture_id, np.int32))
            self._spill.gather("tcp_events", pa.table(columns))
