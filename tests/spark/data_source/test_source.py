"""Tables of captures and datasets as DataFrames, compared row for row with what `ingest` writes."""

import io
import os
import pathlib
import re
import struct
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import zstandard
from pyspark.errors import PySparkException

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_spark.data_source import KafkascopeDataSource
from kafkascope_spark.stories.tables import CLIENTS, FINDINGS

PIECES = pathlib.Path(__file__).parents[3] / "fixtures" / "captures" / "pieces"
PATH_CUT, SASL = PIECES / "path_cut.pcap.zst", PIECES / "sasl_users.pcap.zst"
_FILE_HEADER_BYTES, _PACKET_HEADER_BYTES = 24, 16


@pytest.fixture
def load(spark: Any) -> Callable[..., Any]:
    """A DataFrame of a table: load(places, option=value, ...)."""
    spark.dataSource.register(KafkascopeDataSource)
    return lambda places, **options: spark.read.format("kafkascope").options(**options).load(places)


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
@pytest.mark.parametrize("wanted", [("requests", "records"), pytest.param((), marks=pytest.mark.lab, id="all")])
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
@pytest.mark.parametrize(
    ("of", "pushdown"),
    [
        ("captures", True),
        ("dataset", False),
        pytest.param("captures", False, marks=pytest.mark.lab),
        pytest.param("dataset", True, marks=pytest.mark.lab),
    ],
)
def test_a_query_keeps_nothing_of_those_before_it(
    load: Callable[..., Any], spark: Any, tmp_path: pathlib.Path, of: str, pushdown: bool
) -> None:
    """Filters, columns, views, joins with itself and cached rows, whatever Spark's setting of what it pushes down: each
    setting and each source once, as neither knows of the other; `make lab` has the other pairs."""
    dataset = ingested([PATH_CUT], tmp_path / "out.kscope", RecordDetail.COUNTS)
    requests = dataset.read("requests").to_pylist()
    key = requests[0]["api_key"]
    few = sorted(map(repr, (row for row in requests if row["api_key"] == key)))
    assert 0 < len(few) < len(requests)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", pushdown)
    try:
        frame = load(str(PATH_CUT if of == "captures" else tmp_path / "out.kscope"))
        frame.createOrReplaceTempView("kept_nothing")
        filtered = frame.where(f"api_key = {key}")
        assert rows(filtered.toArrow()) == few
        assert rows(frame.toArrow()) == sorted(map(repr, requests))
        assert spark.sql("select count(*) from kept_nothing").collect()[0][0] == len(requests)
        assert frame.select("conn_id").distinct().count() == len({row["conn_id"] for row in requests})
        both = filtered.alias("a").join(frame.alias("b"), "request_id", "right")
        assert both.count() == len(requests)
        kept = filtered.cache()
        assert (kept.count(), frame.count(), kept.count()) == (len(few), len(requests), len(few))
        kept.unpersist()
    finally:
        spark.catalog.dropTempView("kept_nothing")
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.spark
def test_a_dataset_gives_its_tables_a_partition_a_file(
    load: Callable[..., Any], dataset_of: Callable[..., pathlib.Path], spark: Any
) -> None:
    place = dataset_of("healthy_basic", rules=None)
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
        (
            PATH_CUT,
            {"table": "reqests"},
            r"there is no table reqests \(did you mean requests or events\?\): the tables are captures, clusters,",
        ),
        (
            PATH_CUT,
            {"tables": "requests"},
            r"no option tables \(did you mean table\?\): the options are",
        ),
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


PAGE = pathlib.Path(__file__).parents[3] / "docs" / "data-source.md"


@pytest.mark.spark
@pytest.mark.slow
def test_the_code_of_the_page_runs_as_printed(
    spark: Any, dataset_of: Callable[..., pathlib.Path], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a dataset and a capture here in place of those of a store."""
    blocks = [textwrap.dedent(block) for block in re.findall(r"(?<=\n\n)(?:    .*\n|\n(?=    ))+", PAGE.read_text())]
    assert len(blocks) >= 4
    places = {
        "s3://captures/incident.kscope": str(dataset_of("healthy_basic", rules=None)),
        "s3://captures/*.pcap.zst": str(PATH_CUT),
        "s3://captures/2026-11-22/": str(PATH_CUT),
        "s3://captures/2026-11-23/": str(SASL),
    }
    names = {"spark": spark}
    for block in blocks:
        for store, here in places.items():
            block = block.replace(store, here)
        exec(block, names)
    assert "client_instance_id" in capsys.readouterr().out
