"""One connection that a client's host and a broker's host have recorded, with clocks 340 ms apart.

fixtures/points: two captures of one run, taken in the network namespaces of both hosts of one machine, so by one clock;
the broker's times were moved by SHIFT_NS (editcap). times.tsv has what tshark says of each packet that both show: the
oracle of the clocks and of the network times.
"""

import base64
import csv
import random
import re
import struct
import zlib
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest
import zstandard
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest import run
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.points.merging import PointsReading
from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_analyzer.report.model.traffic import traffic_model
from kafkascope_analyzer.sql.database import Database

POINTS = Path(__file__).parents[3] / "fixtures" / "points"
CLIENT, BROKER = (POINTS / point / "leader_move.pcap.zst" for point in ("client", "broker"))
SHIFT_NS = 340_000_000
BOTH, CLIENT_ONLY, BROKER_ONLY = {43770, 43806, 49534}, {49076}, {57424}
"""Ports of the connections that both hosts show, and that one shows."""
EXACT = "select client_port, api_key, correlation_id, request_bytes, response_bytes, status, latency_us from requests"


def rows(path: Path, query: str) -> list[tuple]:
    with Database(Dataset.open(path)) as database:
        return [tuple(row) for row in database.query(query)[1]]


@pytest.fixture(scope="module")
def merged(tmp_path_factory):
    path = tmp_path_factory.mktemp("points") / "merged.kscope"
    ingest([CLIENT, BROKER], path, IngestOptions(jobs=1, capture_points="auto"))
    return path


@pytest.fixture(scope="module")
def times():
    """What tshark says: (source port, destination port) -> (time at the client's, time at the broker's) of packets."""
    found = defaultdict(list)
    with (POINTS / "times.tsv").open() as file:
        for row in csv.DictReader(file, delimiter="\t"):
            found[int(row["source_port"]), int(row["destination_port"])].append(
                (int(row["client_ns"]), int(row["broker_ns"]))
            )
    return found


def test_the_clocks_are_found_within_a_millisecond(merged):
    client, broker = rows(
        merged, "select capture_point, clock_reference, clock_kind, clock_ahead_ns, clock_uncertainty_ns from captures"
    )
    assert client == ("client", "client", "reference", 0, 0)
    assert broker[:3] == ("broker", "client", "constant")
    assert abs(broker[3] - SHIFT_NS) <= broker[4] < 1_000_000


def test_each_connection_counts_once(merged, times):
    listed = rows(merged, "select client_port, capture_points, n_segments_at_both from connections")
    assert len(listed) == 5
    found = {port: (points, n) for port, points, n in listed}
    assert set(found) == BOTH | CLIENT_ONLY | BROKER_ONLY
    assert {port for port, seen in found.items() if seen[1]} == BOTH
    assert all(found[port] == (["client"], 0) for port in CLIENT_ONLY)
    assert all(found[port] == (["broker"], 0) for port in BROKER_ONLY)
    n_of_tshark = {port: len(times[port, 9092]) + len(times[9092, port]) for port in BOTH}
    assert {port: found[port] for port in BOTH} == {port: (["client", "broker"], n) for port, n in n_of_tshark.items()}


def test_network_times_are_those_of_one_clock(merged, times):
    found = rows(
        merged, "select client_port, to_server_p50_ns, to_client_p50_ns from connections where n_segments_at_both > 0"
    )
    assert {port for port, _, _ in found} == BOTH
    for port, there, back in found:
        up = sorted(broker - SHIFT_NS - client for client, broker in times[port, 9092])
        down = sorted(client - broker + SHIFT_NS for client, broker in times[9092, port])
        assert there == pytest.approx(median(up), rel=0.1, abs=1500), port  # the clocks' uncertainty is 1 to 2 µs
        assert _is_near_middle(back, down), port


def _is_near_middle(value: int, ordered: list[int]) -> bool:
    """Whether a median is between the neighbours of the middle, give or take the uncertainty of the clocks."""
    middle = len(ordered) // 2
    return ordered[max(middle - 1, 0)] * 0.9 - 1500 <= value <= ordered[min(middle + 1, len(ordered) - 1)] * 1.1 + 1500


def test_a_connection_of_one_point_is_as_if_read_alone(merged, tmp_path):
    ingest([CLIENT], tmp_path / "alone.kscope", IngestOptions(jobs=1))
    query = "select request_id, ts_ns, latency_us, request_packet_no from requests where client_port = 49076 order by 1"
    alone = rows(tmp_path / "alone.kscope", query)
    assert len(alone) > 5
    assert rows(merged, query) == alone


@pytest.mark.slow
@pytest.mark.parametrize("lossy", ["client", "broker"])
def test_what_one_point_lost_the_other_fills_in(merged, tmp_path, lossy):
    shared = " where client_port in (43770, 43806, 49534)"
    for name, capture in (("client", CLIENT), ("broker", BROKER)):
        (tmp_path / name).mkdir()
        data = zstandard.ZstdDecompressor().decompress(capture.read_bytes(), 1 << 20)
        (tmp_path / name / "x.pcap").write_bytes(without_some(data) if name == lossy else data)
    inputs = [tmp_path / "client" / "x.pcap", tmp_path / "broker" / "x.pcap"]
    out = tmp_path / "x.kscope"
    ingest(inputs, out, IngestOptions(jobs=1, capture_points="auto"))
    bytes_of = (
        "select client_port, client_bytes, server_bytes, client_segments, server_segments, retransmitted, "
        f"missing_bytes, undecoded_bytes from connections{shared} order by 1"
    )
    assert rows(out, bytes_of) == rows(merged, bytes_of)
    whole, filled = (sorted(rows(path, EXACT + shared)) for path in (merged, out))
    assert [row[:-1] for row in filled] == [row[:-1] for row in whole]
    for one, other in zip(whole, filled, strict=True):
        assert other[-1] == pytest.approx(one[-1], abs=200), one  # the time at the other host, some µs away


def without_some(data: bytes) -> bytes:
    """A pcap without a tenth of its packets."""
    chance, out, at = random.Random(5), [data[:24]], 24
    while at < len(data):
        size = 16 + struct.unpack_from("<I", data, at + 8)[0]
        out += [data[at : at + size]] if chance.random() >= 0.1 else []
        at += size
    return b"".join(out)


@pytest.mark.slow
def test_blocks_and_processes_change_nothing(merged, tmp_path, monkeypatch):
    start = PointsReading.__init__

    def with_small_blocks(self, inputs, buffers):
        start(self, inputs, buffers)
        for reader in self._readers:
            reader._block_bytes = 1 << 12

    monkeypatch.setattr(PointsReading, "__init__", with_small_blocks)
    monkeypatch.setattr(run, "BYTES_PER_WORKER", 1 << 12)
    ingest([CLIENT, BROKER], tmp_path / "x.kscope", IngestOptions(jobs=2, capture_points="auto"))
    for table in ("connections", "requests"):
        query = f"select * from {table}"
        assert sorted(rows(tmp_path / "x.kscope", query), key=str) == sorted(rows(merged, query), key=str)


def test_the_report_tells_the_clocks_and_the_network(merged):
    points = traffic_model(Dataset.open(merged)).capture_points
    assert [point.name for point in points.points] == ["client", "broker"]
    (path,) = points.paths
    assert (path.client_point, path.server_point, path.n_connections) == ("client", "broker", 3)
    assert points.sentences[0] == "2 capture points; all times are by the clock of client"
    assert points.sentences[1].startswith("the clock of broker was 340 ms ahead (give or take ")
    assert points.sentences[2].startswith("3 connections seen at both: client to broker takes ")


def test_points_that_share_nothing_keep_their_clocks(tmp_path):
    foreign = POINTS.parent / "links" / "routed_any.pcap.zst"
    lines = tmp_path / "points.txt"
    lines.write_text(f"# two hosts\nhere: points/client/*.zst\nthere: {foreign.name}\n")
    out = tmp_path / "x.kscope"
    ingest([CLIENT, foreign], out, IngestOptions(jobs=1, capture_points=str(lines)))
    assert rows(out, "select capture_point, clock_reference from captures") == [("here", "here"), ("there", "there")]
    sentences = traffic_model(Dataset.open(out)).capture_points.sentences
    assert sentences[1].startswith("nothing ties there to here: no connection was seen at both")


def test_a_piece_has_the_times_of_the_dataset(merged, tmp_path):
    piece = tmp_path / "piece.pcapng"
    result = CliRunner().invoke(app, ["cut", str(merged), "--connection", ":43770", "-o", str(piece)])
    assert result.exit_code == 0, result.output
    seen = [int(ts) for block in iter_blocks(piece) for ts in block.packets.ts_ns]
    assert len(seen) >= 47  # of 24 at each host; the last reaches the other host after the connection has ended
    client, broker = seen[:24], seen[24:]  # one file after the other
    assert all(abs(one - other) < 1_000_000 for one, other in zip(client, broker, strict=False))


def test_the_command_takes_the_option(tmp_path):
    out = tmp_path / "x.kscope"
    command = ["ingest", str(POINTS), "--capture-points", "auto", "--format", "plain", "-o", str(out)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "2 capture points; all times are by the clock of broker" in result.output


@pytest.mark.slow
def test_every_form_of_the_report_says_whose_clock_it_is(merged, tmp_path):
    forms = {"--html": tmp_path / "report.html", "--markdown": tmp_path / "report.md"}
    arguments = [str(one) for option in forms.items() for one in option]
    shown = CliRunner().invoke(app, ["report", str(merged), "--overwrite", *arguments])
    assert shown.exit_code == 0, shown.output
    said = "2 capture points; all times are by the clock of client"
    terminal = CliRunner().invoke(app, ["report", str(merged)]).stdout
    story = re.search(r'id="data-story">([^<]*)<', forms["--html"].read_text())
    page = zlib.decompress(base64.b64decode(story[1])).decode()
    texts = [terminal.replace("\n", " "), page, forms["--markdown"].read_text()]
    assert [said in text for text in texts] == [True] * 3
