"""The same events however much is read at a time, and however the capture is cut."""

from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES, EVENT_ORDER
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.memory.limits import Limits

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "leader_move.pcap.zst"
_HEADER, _RECORD = 24, 16


@pytest.fixture(scope="module")
def raw():
    with CAPTURE.open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


@pytest.fixture(scope="module")
def whole(ingested):
    return ingested(CAPTURE)


def events(dataset, *without):
    table = Dataset.open(dataset).read("events")
    return table.drop_columns(list(without)).to_pylist()


def without_packets(rows):
    """The rows without the packet numbers in their structs."""
    for row in rows:
        of_servers = [name for name, each in EVENT_CLASSES.items() if each.KIND.key_kind == "server"]
        for kind in (*of_servers, "silence"):
            if row[kind] is not None:
                row[kind] = {name: value for name, value in row[kind].items() if not name.endswith("packet_no")}
    return rows


def in_order(rows):
    return sorted(rows, key=lambda row: [row[name] for name in EVENT_ORDER if name in row])


@pytest.mark.slow
def test_blocks_change_nothing(whole, raw, tmp_path, monkeypatch):
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.limits_within", lambda _: Limits(block_bytes=1 << 18))
    monkeypatch.setattr("kafkascope_analyzer.scan.spill.GATHERED_ROWS", 100)
    (tmp_path / "whole.pcap").write_bytes(raw)
    ingest([tmp_path / "whole.pcap"], tmp_path / "blocks.kscope", IngestOptions(jobs=1))
    assert in_order(events(tmp_path / "blocks.kscope")) == in_order(events(whole))


@pytest.mark.slow
def test_cutting_the_capture_changes_nothing_but_packet_numbers(whole, raw, tmp_path):
    at, starts = _HEADER, []
    while at < len(raw):
        starts.append(at)
        at += _RECORD + int.from_bytes(raw[at + 8 : at + 12], "little")
    edges = [starts[len(starts) * part // 4] for part in range(4)] + [len(raw)]
    paths = [tmp_path / f"{part}.pcap" for part in range(4)]
    for path, first, end in zip(paths, edges[:-1], edges[1:], strict=True):
        path.write_bytes(raw[:_HEADER] + raw[first:end])
    ingest(paths, tmp_path / "pieces.kscope", IngestOptions(jobs=1))
    pieces = in_order(events(tmp_path / "pieces.kscope", "packet_no"))
    assert without_packets(pieces) == without_packets(in_order(events(whole, "packet_no")))


def test_a_file_is_in_order(whole):
    """One row group is what a reader sorts no more."""
    for _, rows in groupby(events(whole), itemgetter("kind")):
        of_kind = list(rows)
        assert of_kind == in_order(of_kind)


def test_a_file_is_of_one_kind(whole):
    """A kind has a folder, and its files lack the structs of other kinds; those of error_run have the first request."""
    found = {(folder_of(path), *pq.read_schema(path).names) for path in (whole / "events").rglob("*.parquet")}
    structs = {kind: [name for name in names if name in EVENT_CLASSES] for kind, *names in found}
    assert structs.pop("error_run") == ["request", "error_run"]
    assert structs == {kind: [kind] for kind in structs}
    assert len(found) == len(structs) + 1
    assert {*structs, "error_run"} == {row["kind"] for row in events(whole)}


def folder_of(path):
    return next(part.removeprefix("kind=") for part in path.parts if part.startswith("kind="))
