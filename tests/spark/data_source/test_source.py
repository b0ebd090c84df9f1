"""Tables of captures and datasets as DataFrames, compared row for row with what `ingest` writes."""

import io
import os
import pathlib
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import zstandard
from pyspark.errors import PySparkException
from pyspark.sql import datasource
from pyspark.sql.types import StructType

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, FINDINGS
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_spark.data_source import KafkascopeDataSource, reader
from kafkascope_spark.data_source.read_options import parse_options
from kafkascope_spark.data_source.reader import CaptureReader

PIECES = pathlib.Path(__file__).parents[3] / "fixtures" / "captures" / "pieces"
PATH_CUT, SASL = PIECES / "path_cut.pcap.zst", PIECES / "sasl_users.pcap.zst"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_FILE_HEADER_BYTES, _PACKET_HEADER_BYTES = 24, 16


@pytest.fixture
def load(spark: Any) -> Iterator[Callable[..., Any]]:
    """A DataFrame of a table: load(places, option=value, ...)."""
    spark.conf.set(PUSHDOWN, True)
    spark.dataSource.register(KafkascopeDataSource)
    yield lambda places, **options: spark.read.format("kafkascope").options(**options).load(places)
    spark.conf.unset(PUSHDOWN)


def rotated(capture: pathlib.Path, folder: pathlib.Path, n_files: int) -> list[str]:
    """The packets of a capture as a series of files with as many packets each."""
    with zstandard.open(capture, "rb") as packed:
        data = packed.read()
    order = "<" if data[0] in (0xD4, 0x4D) else ">"
    packets, at = [], _FILE_HEADER_BYTES
    while at < len(data):
        size = _PACKET_HEADER_BYTES + struct.unpack_from(f"{order}I", data, at + 8)[0]
        packets.append(data[at : at + size])
        at += size
    each = -(-len(packets) // n_files)
    paths = []
    for number in range(n_files):
        paths.append(str(folder / f"rotated.pcap{number}"))
        content = io.BytesIO(data[:_FILE_HEADER_BYTES])
        content.seek(0, os.SEEK_END)
        content.writelines(packets[number * each : (number + 1) * each])
        pathlib.Path(paths[-1]).write_bytes(content.getvalue())
    return paths


def rows(table: Any) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def ingested(captures: Sequence[str | pathlib.Path], out: pathlib.Path, detail: RecordDetail) -> Dataset:
    ingest(captures, out, IngestOptions(jobs=1, detail=detail))
    return Dataset.open(out)


@pytest.mark.spark
@pytest.mark.parametrize("wanted", [("requests", "records"), pytest.param((), marks=pytest.mark.slow, id="all")])
def test_tables_of_captures_have_the_rows_that_ingest_of_each_point_writes(
    load: Callable[..., Any], tmp_path: pathlib.Path, wanted: Sequence[str]
) -> None:
    series = rotated(PATH_CUT, tmp_path, 3)
    points = [
        ingested(series, tmp_path / "a", RecordDetail.BATCHES),
        ingested([SASL], tmp_path / "b", RecordDetail.BATCHES),
    ]
    names = [table.name for table in INGEST_TABLES]
    with_rows = [name for name in names if any(point.rows(name) for point in points)]
    empty = [name for name in names if name not in with_rows]
    assert len(with_rows) >= 9
    for name in wanted or (*with_rows, *empty[:1]):  # one empty table is like another
        found = load([str(tmp_path / "rotated.pcap*"), str(SASL)], table=name, records="batches").toArrow()
        assert rows(found) == sorted(row for point in points for row in rows(point.read(name))), name


@pytest.mark.spark
def test_conditions_are_pushed_down_and_change_no_row(load: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    dataset = ingested([PATH_CUT], tmp_path / "out.kscope", RecordDetail.COUNTS)
    requests = dataset.read("requests").to_pylist()
    times = sorted(row["ts_ns"] for row in requests)
    middle, address = times[len(times) // 2], requests[0]["server_ip"]
    wanted = [r for r in requests if r["ts_ns"] <= middle and r["server_ip"] == address and r["api_key"] in (1, 3)]
    assert 0 < len(wanted) < len(requests)
    for place in (str(PATH_CUT), str(tmp_path / "out.kscope")):
        found = load(place).where(f"ts_ns <= {middle} and server_ip = '{address}' and api_key in (1, 3)")
        assert rows(found.toArrow()) == sorted(map(repr, wanted))
        plan = found._jdf.queryExecution().executedPlan().toString()
        assert "BatchScan kafkascope" in plan
        assert "Filter (" not in plan, plan


@pytest.mark.spark
def test_a_dataset_gives_its_tables_a_partition_a_file(
    load: Callable[..., Any], dataset_of: Callable[..., pathlib.Path], spark: Any
) -> None:
    place = dataset_of("healthy_basic", findings=True)
    dataset = Dataset.open(place)
    for name, stored in (("connections", "connections"), (CLIENTS.name, f"stories/{CLIENTS.name}")):
        frame = load(str(place), table=name)
        assert rows(frame.toArrow()) == rows(dataset.read(stored))
        assert frame.schema == spark.read.schema(frame.schema).parquet(*dataset.spark_uris(stored)).schema
        assert frame.rdd.getNumPartitions() == len(dataset.files(stored))
    narrow = spark.read.format("kafkascope").option("table", "requests").schema("api_key short, conn_id string")
    assert narrow.load(str(place)).groupBy("api_key").count().count() > 3
    assert load(str(place), table=FINDINGS.name).count() == dataset.rows(f"stories/{FINDINGS.name}")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("place", "options", "sentence"),
    [
        (PATH_CUT, {"table": "reqests"}, "there is no table reqests: the tables are captures, connections,"),
        (PATH_CUT, {"tables": "requests"}, "there is no option tables: the options are table, records, hosts"),
        (PATH_CUT, {"records": "yes"}, "records cannot be yes: it is one of counts, batches, records, payloads"),
        (PATH_CUT, {"table": "clients"}, "the table clients needs the stories of a dataset: run kafkascope analyze"),
        (PIECES / "none.pcap", {}, "no such file or directory"),
    ],
)
def test_one_sentence_says_what_cannot_be_read(
    load: Callable[..., Any], place: pathlib.Path, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(PySparkException, match=sentence):
        load(str(place), **options).count()


def test_a_point_that_begins_too_late_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the captures were read")

    monkeypatch.setattr(reader, "ingest", refuse)
    schema = StructType().add("conn_id", "string")
    read_too_late = CaptureReader(parse_options({}), schema, [str(PATH_CUT)])
    (partition,) = read_too_late.partitions()
    assert read_too_late.pushFilters([datasource.LessThan(("ts_ns",), 1_000_000_000)]) == []
    assert list(read_too_late.read(partition)) == []
    with pytest.raises(AssertionError, match="the captures were read"):
        list(CaptureReader(parse_options({}), schema, [str(PATH_CUT)]).read(partition))
