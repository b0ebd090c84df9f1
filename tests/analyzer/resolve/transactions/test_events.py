"""Events of transactional ids, of a real capture, against queries over the finished tables and what the lab logged."""

import itertools
import json
import pathlib
import struct
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset as OpenedDataset
from kafkascope_analyzer.dataset.tables.events import EVENT_ORDER
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.memory.limits import Limits

FIXTURES = pathlib.Path(__file__).parents[4] / "fixtures" / "captures"
CAPTURE = FIXTURES / "txn.pcap.zst"
SECOND = 1_000_000_000
TABLES = ("events", "requests", "partitions", "errors", "connections")
FILE_HEADER, RECORD_HEADER = 24, 16


class Dataset:
    """Queries over one dataset."""

    def __init__(self, place: pathlib.Path) -> None:
        self._place = place

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query; {requests} stands for the table's files, {messages} for the folder of messages."""
        names, opened = {name: name for name in TABLES}, OpenedDataset.open(self._place)
        with duckdb.connect() as connection:
            for name in TABLES:
                connection.register(name, opened.arrow(name))
            found = connection.execute(query.format(**names, messages=f"{self._place}/messages"))
            rows: list[tuple[Any, ...]] = found.fetchall()
        return rows

    def events(self, kind: str, columns: str) -> list[tuple[Any, ...]]:
        """Columns of the events of a kind, sorted; `s` is the struct of the kind."""
        kind = f"transaction_{kind}"
        return self.rows(
            f"SELECT {columns} FROM (SELECT *, {kind} AS s FROM {{events}} WHERE kind = '{kind}') ORDER BY ALL"
        )

    def of_transactions(self) -> pa.Table:
        """All events of transactional ids, in their order."""
        table = OpenedDataset.open(self._place).read("events", filter=pc.field("key_kind") == "transaction")
        return table.sort_by([(name, "ascending") for name in EVENT_ORDER])


@pytest.fixture(scope="module")
def dataset(ingested: Callable[..., pathlib.Path]) -> Dataset:
    return Dataset(ingested(CAPTURE))


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    raw: dict[str, Any] = json.loads((FIXTURES / "txn.truth.json").read_text())
    return raw


def test_each_request_to_a_coordinator_is_an_event(dataset: Dataset) -> None:
    own = dataset.events(
        "request",
        "key, client_ip, ts_ns, packet_no, conn_id, s.request_id, s.api_key, s.answered_ns, s.committed, s.errors",
    )
    assert own == dataset.rows(
        """SELECT transactional_id, r.client_ip, r.ts_ns, request_packet_no, r.conn_id, request_id, r.api_key,
               response_ns, committed, list_sort(list_distinct(list(e.error_name) FILTER (e.error_name IS NOT NULL)))
           FROM {requests} r LEFT JOIN (SELECT request_id, error_name FROM {errors}) e USING (request_id)
           WHERE r.transactional_id IS NOT NULL
             AND api_name IN ('InitProducerId', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn', 'AddPartitionsToTxn')
             AND NOT (api_name = 'AddPartitionsToTxn' AND api_version >= 4)
           GROUP BY ALL ORDER BY ALL"""
    )
    assert {api for *_, api, _, _, _ in own} == {22, 24, 26, 28}


def test_requests_say_what_their_messages_do(dataset: Dataset) -> None:
    added = dataset.rows(
        """SELECT request_id, v3_and_below_producer_id, v3_and_below_producer_epoch, list_sort(list(t.name || '-' || p))
           FROM '{messages}/AddPartitionsToTxn/request/**/*.parquet', unnest(v3_and_below_topics) u(t),
               unnest(t.partitions) v(p)
           WHERE api_version < 4 GROUP BY ALL ORDER BY ALL"""
    )
    assert len(added) > 50
    own = dataset.events(
        "request",
        "s.request_id, s.producer_id, s.producer_epoch, CASE WHEN s.api_key = 24 THEN list_sort(s.partitions) END",
    )
    assert [row for row in own if row[3]] == added
    begun = dataset.events("request", "s.request_id, s.timeout_ms, s.asked_producer_id")
    assert [row for row in begun if row[1] is not None] == dataset.rows(
        """SELECT request_id, transaction_timeout_ms, producer_id
           FROM '{messages}/InitProducerId/request/**/*.parquet' WHERE transactional_id IS NOT NULL ORDER BY ALL"""
    )
    ended = dataset.events("request", "s.request_id, s.answer_producer_id, s.answer_producer_epoch")
    assert [row for row in ended if row[1] is not None] == dataset.rows(
        "SELECT request_id, producer_id, producer_epoch FROM '{messages}/EndTxn/response/**/*.parquet' "
        "WHERE producer_id IS NOT NULL ORDER BY ALL"
    )


def test_markers_and_questions_of_leaders_are_those_of_their_producers(dataset: Dataset) -> None:
    seen = dataset.events("seen", "key, s.request_id, s.producer_id, s.producer_epoch, list_sort(s.partitions)")
    assert seen == dataset.rows(
        """SELECT a.transactional_id, request_id, a.producer_id, a.producer_epoch, list_sort(list(t.name || '-' || p))
           FROM '{messages}/AddPartitionsToTxn/request/**/*.parquet', unnest(transactions) u(a), unnest(a.topics) v(t),
               unnest(t.partitions) w(p)
           WHERE t.name != '__consumer_offsets' GROUP BY ALL ORDER BY ALL"""
    )
    marked = dataset.events("markers", "s.request_id, s.producer_id, s.committed, len(s.partitions), s.answered_ns")
    assert marked == dataset.rows(
        """SELECT q.request_id, m.producer_id, m.transaction_result,
               len(flatten([[p FOR p IN t.partitions IF p.error_code = 0] FOR t IN n.topics])), a.ts_ns
           FROM '{messages}/WriteTxnMarkers/request/**/*.parquet' q, unnest(q.markers) u(m),
               '{messages}/WriteTxnMarkers/response/**/*.parquet' a, unnest(a.markers) v(n)
           WHERE a.request_id = q.request_id AND n.producer_id = m.producer_id ORDER BY ALL"""
    )
    of_markers = dict(dataset.events("markers", "DISTINCT s.producer_id, key"))
    assert of_markers == dict(
        dataset.rows("SELECT DISTINCT producer_id, transactional_id FROM {requests} WHERE api_name = 'InitProducerId' "
                     "AND transactional_id IS NOT NULL AND producer_id IS NOT NULL")
    )  # fmt: skip


def test_what_is_written_adds_up(dataset: Dataset) -> None:
    own = dataset.events("written", "key, conn_id, s.kept_batches, s.kept_records, s.sent_batches, s.sent_records")
    sums: dict[tuple[str, str], list[int]] = {}
    for key, conn_id, *counts in own:
        sums[key, conn_id] = [a + b for a, b in zip(sums.get((key, conn_id), [0] * 4), counts, strict=True)]
    of_table = dataset.rows(
        """WITH each AS (
               SELECT transactional_id, r.conn_id, request_id, topic, partition, max(p.n_batches) AS b,
                   max(p.n_records) AS n, max(p.error_code) FILTER (direction = 'response') AS e
               FROM {requests} r JOIN {partitions} p USING (request_id)
               WHERE r.api_name = 'Produce' AND transactional_id IS NOT NULL GROUP BY ALL)
           SELECT transactional_id, conn_id, sum(b) FILTER (e IN (0, 46)), sum(n) FILTER (e IN (0, 46)),
               sum(b) FILTER (e IS NULL OR e IN (0, 46)), sum(n) FILTER (e IS NULL OR e IN (0, 46))
           FROM each GROUP BY ALL"""
    )
    assert sums == {(key, conn_id): [n or 0 for n in counts] for key, conn_id, *counts in of_table}


def test_a_stretch_crosses_no_bound_of_its_id_on_any_connection(dataset: Dataset) -> None:
    bounds = dataset.events("request", "key, ts_ns, s.api_key")
    times = [(key, ts_ns) for key, ts_ns, api in bounds if api in (22, 26)] + dataset.events("markers", "key, ts_ns")
    stretches = dataset.events("written", "key, conn_id, ts_ns, s.last_ns")
    assert len({conn_id for _, conn_id, *_ in stretches}) > 10
    for key, _, first, last in stretches:
        assert not [ts_ns for name, ts_ns in times if name == key and first < ts_ns <= last]
    for (key, conn_id, _, last), (next_key, next_conn_id, first, _) in itertools.pairwise(stretches):
        if (key, conn_id) == (next_key, next_conn_id):
            assert [ts_ns for name, ts_ns in times if name == key and last < ts_ns <= first]


def test_what_was_committed_and_aborted_is_what_the_producers_logged(dataset: Dataset, truth: dict[str, Any]) -> None:
    for client in truth["clients"]:
        if client["transactional_id"] and not client["fatal_error"] and client["name"] not in ("fencer", "hanging"):
            ended = [line for line in client["log"] if line["event"] in ("txn_commit", "txn_abort")]
            kept = dataset.events("written", "key, s.kept_records")
            assert sum(n for key, n in kept if key == client["transactional_id"]) == sum(e["records"] for e in ended)


def test_blocked_consumers_are_those_whose_last_stable_offset_stays(dataset: Dataset, truth: dict[str, Any]) -> None:
    own = dataset.events(
        "blocked_by_lso",
        "conn_id, s.partition, s.last_stable_offset, s.from_ns, s.until_ns, s.lowest_high_watermark, "
        "s.highest_high_watermark",
    )
    behind = dataset.rows(
        """SELECT p.conn_id, topic || '-' || partition, last_stable_offset, min(p.ts_ns), max(p.ts_ns),
               min(high_watermark), max(high_watermark)
           FROM {partitions} p JOIN {requests} r USING (request_id)
           WHERE r.api_name = 'Fetch' AND r.isolation_level = 1 AND high_watermark > last_stable_offset
             AND last_stable_offset >= 0
           GROUP BY ALL ORDER BY ALL"""
    )
    assert set(own) <= set(behind)
    left_out = set(behind) - set(own)  # for nobody came more, or its transaction is not in the capture and was short
    shown = {(key, partition, offset) for key, partition, offset in _first_batches(dataset)}
    for _, partition, offset, first, last, low, high in left_out:
        matched = [key for key, *place in shown if place == [partition, offset]]
        assert high == low or not matched or last - first < 10 * SECOND
    hanging = next(e for e in truth["events"] if e["kind"] == "transaction_left_open")["detail"]["transactional_id"]
    waits = dataset.events("blocked_by_lso", "key, s.until_ns - s.from_ns, s.partition, s.last_stable_offset")
    assert max(wait for key, wait, *_ in waits if key == hanging) > 8 * SECOND
    assert {(key, partition, offset) for key, _, partition, offset in waits} <= shown


def _first_batches(dataset: Dataset) -> list[tuple[Any, ...]]:
    """Transactional id, partition and offset of each batch that a transactional producer wrote."""
    return dataset.rows(
        """SELECT DISTINCT transactional_id, topic || '-' || partition, p.partition_offset
           FROM {partitions} p JOIN {requests} r USING (request_id)
           WHERE r.api_name = 'Produce' AND transactional_id IS NOT NULL AND direction = 'response'
             AND p.error_code = 0"""
    )


def files_of(capture: pathlib.Path, folder: pathlib.Path, n_files: int) -> list[pathlib.Path]:
    """The capture cut into files of about one size, as a rotating tcpdump writes them."""
    with capture.open("rb") as source:
        raw = zstandard.ZstdDecompressor().stream_reader(source).read()
    parts, at = [bytearray() for _ in range(n_files)], FILE_HEADER
    while at < len(raw):
        length = RECORD_HEADER + struct.unpack_from("<I", raw, at + 8)[0]
        parts[min(at * n_files // len(raw), n_files - 1)] += raw[at : at + length]
        at += length
    files = [folder / f"part-{n}.pcap" for n in range(n_files)]
    for file, part in zip(files, parts, strict=True):
        file.write_bytes(raw[:FILE_HEADER] + bytes(part))
    return files


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "n_files"), [(2, 1), pytest.param(3, 3, marks=pytest.mark.lab)])
def test_jobs_blocks_and_files_change_nothing(
    dataset: Dataset, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, jobs: int, n_files: int
) -> None:
    """Three files for three processes are slow: that files change nothing is shown with the events of groups."""
    limits = Limits(block_bytes=1 << 18, batch_bytes=1 << 15)
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.limits_within", lambda _: limits)
    monkeypatch.setattr("kafkascope_analyzer.dataset.parquet_files.BATCH_ROWS", 7)  # of messages
    monkeypatch.setattr("kafkascope_analyzer.resolve.transactions.source.SLICE_ROWS", 5)
    inputs = [CAPTURE] if n_files == 1 else files_of(CAPTURE, tmp_path, n_files)
    ingest(inputs, tmp_path / "other.kscope", IngestOptions(jobs=jobs))
    other, whole = Dataset(tmp_path / "other.kscope").of_transactions(), dataset.of_transactions()
    assert whole.num_rows > 1_000
    if n_files > 1:  # packets are numbered by file
        whole, other = (table.drop_columns(["packet_no"]) for table in (whole, other))
    assert other.to_pylist() == whole.to_pylist()
