"""What `kafkascope cut` takes: compared with the capture as struct and dpkt read it, and with what tshark says."""

import gzip
import ipaddress
import shutil
import socket
import struct
import subprocess
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.cut import copy
from kafkascope_analyzer.cut.brokers import broker_names
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, written_files
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.source import CaptureFile
from kafkascope_parsers.capture.pcapng_writer import PcapngWriter, Section

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "fixtures" / "captures"
LEADER_MOVE = CAPTURES / "leader_move.pcap.zst"
NS = 10**9

needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: object, stdin: bytes | None = None) -> Result:
    """Cuts packets as they are: what is blanked otherwise is in tests/test_secrets.py."""
    words = [str(arg) for arg in args]
    return CliRunner().invoke(app, ["cut", *words, "-o", "piece.pcapng", "--with-secrets"], input=stdin)


def cut(files, *args, stdin=None):
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, result.output
    piece = files.pcapng_packets(Path("piece.pcapng").read_bytes())
    assert result.stdout.startswith(f"piece.pcapng: {len(piece.packets):,} packet")
    return piece


def refused(code: int, *args: object) -> str:
    before = sorted(path.name for path in Path().iterdir())
    result = run(*args)
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    assert sorted(path.name for path in Path().iterdir()) == before
    sentence = result.stderr.splitlines()[-1]
    assert sentence.startswith("kafkascope: ")
    return sentence


def of_ends(files, packets, *ends):
    wanted = frozenset((socket.inet_aton(ip), port) for ip, port in ends)
    return [packet for packet in packets if wanted <= files.ends(packet)]


def row(dataset: Path, table: str, only: ds.Expression) -> dict:
    return ds.dataset(dataset / table).to_table(filter=only).to_pylist()[0]


def test_a_stretch_of_time_is_those_packets_as_they_are(files, original):
    piece = cut(files, LEADER_MOVE, "--from", "+10.5s", "--to", "+12500ms")
    start = original[0].ts_ns
    assert piece.packets == [p for p in original if 10.5 * NS <= p.ts_ns - start <= 12.5 * NS]
    assert piece.comment.endswith("--from +10.5s --to +12500ms; out of leader_move.pcap.zst")
    assert piece.application.startswith("kafkascope ")


def test_a_margin_is_time_before_and_after(files, original, dataset):
    start = original[0].ts_ns
    inside = [p for p in original if 9.5 * NS <= p.ts_ns - start <= 12.25 * NS]
    window = ("--from", "+10s", "--to", "+11.75s", "--margin", "0.5", "--overwrite")
    assert cut(files, LEADER_MOVE, *window).packets == inside
    assert cut(files, dataset, "--capture", LEADER_MOVE, *window).packets == inside


def test_packet_numbers_are_those_of_wireshark(files, original):
    piece = cut(files, LEADER_MOVE, "--packets", "100-250,300,25501-99999")
    assert piece.packets == [*original[99:250], original[299], original[25500]]


def test_kinds_of_selections_must_all_hold(files, original):
    piece = cut(files, LEADER_MOVE, "--packets", "1-9000", "--to", "+3s", "--connection", "10.77.0.13:9092")
    inside = [p for p in original[:9000] if p.ts_ns - original[0].ts_ns <= 3 * NS]
    assert piece.packets == of_ends(files, inside, ("10.77.0.13", 9092))


def test_a_connection_is_there_from_its_syn_to_its_last_packet(files, original, dataset):
    chosen = row(dataset, "connections", (ds.field("close_kind") == "fin_client") & ds.field("syn_ns").is_valid())
    ends = (chosen["client_ip"], chosen["client_port"]), (chosen["server_ip"], chosen["server_port"])
    piece = cut(files, dataset, "--connection", chosen["conn_id"], "--capture", LEADER_MOVE)
    assert piece.plain == of_ends(files, original, *ends)
    assert f"--connection {chosen['conn_id']}" in piece.comment


def test_a_client_is_all_its_connections(files, original, dataset):
    rows = ds.dataset(dataset / "connections").to_table().to_pylist()
    mine = [r for r in rows if "order-api-5" in (r["client_ids"] or [])]
    ends = {
        frozenset(
            {(socket.inet_aton(r["client_ip"]), r["client_port"]), (socket.inet_aton(r["server_ip"]), r["server_port"])}
        )
        for r in mine
    }
    piece = cut(files, LEADER_MOVE, "--dataset", dataset, "--client", "order-api-5")
    assert len(mine) > 3
    assert piece.plain == [p for p in original if files.ends(p) in ends]


def test_a_request_comes_with_its_response_and_the_handshake(files, original, dataset):
    chosen = row(dataset, "requests", (ds.field("error_name") == "NOT_LEADER_OR_FOLLOWER") & (ds.field("api_key") == 0))
    ends = (chosen["client_ip"], chosen["client_port"]), (chosen["server_ip"], chosen["server_port"])
    stream = of_ends(files, original, *ends)
    piece = cut(files, dataset, "--request", chosen["request_id"], "--capture", LEADER_MOVE)
    times = [p.ts_ns for p in piece.packets]
    assert piece.plain[:3] == stream[:3]
    assert {chosen["ts_ns"], chosen["response_ns"], chosen["response_last_ns"]} <= set(times)
    assert set(piece.plain) <= set(stream)
    assert len(piece.packets) < len(stream)
    said = {p.ts_ns: p.comments for p in piece.packets if p.comments}
    assert f"corr {chosen['correlation_id']} request" in said[chosen["ts_ns"]][0]
    assert "NOT_LEADER_OR_FOLLOWER" in said[chosen["response_ns"]][0]


@pytest.mark.slow
def test_a_request_is_answered_in_the_next_file_of_a_series(files, dataset, here):
    chosen = row(dataset, "requests", (ds.field("latency_us") > 400_000) & (ds.field("ts_ns") > 0))
    one = cut(files, dataset, "--request", chosen["request_id"], "--capture", LEADER_MOVE)
    raw = files.unpacked(LEADER_MOVE)
    sizes = [16 + len(packet.data) for packet in files.pcap_packets(raw)[: chosen["request_packet_no"]]]
    middle = 24 + sum(sizes)
    (here / "later.pcap").write_bytes(raw[:24] + raw[middle:])
    (here / "before.pcap").write_bytes(raw[:middle])
    ingest([here / "later.pcap", here / "before.pcap"], here / "series.kscope")
    series = cut(files, here / "series.kscope", "--request", chosen["request_id"], "--overwrite")
    assert series.packets == one.packets
    assert {chosen["ts_ns"], chosen["response_last_ns"]} <= {packet.ts_ns for packet in series.packets}


def test_margin_and_whole_connections_take_more(files, original, dataset):
    chosen = row(dataset, "requests", (ds.field("error_name") == "NOT_LEADER_OR_FOLLOWER") & (ds.field("api_key") == 0))
    ends = (chosen["client_ip"], chosen["client_port"]), (chosen["server_ip"], chosen["server_port"])
    stream = of_ends(files, original, *ends)
    args = (dataset, "--request", chosen["request_id"], "--capture", LEADER_MOVE)
    near = [p for p in stream if chosen["ts_ns"] - NS <= p.ts_ns <= chosen["response_last_ns"] + NS]
    assert set(near) <= set(cut(files, *args, "--margin", "1", "--no-comments").packets) < set(stream)
    assert cut(files, *args, "--whole-connections", "--no-comments", "--overwrite").packets == stream


def test_blocks_of_any_size_give_the_same_piece(files, dataset, monkeypatch):
    args = (dataset, "--capture", LEADER_MOVE, "--api", "fetch", "--to", "+4s", "--overwrite")
    whole = cut(files, *args)
    monkeypatch.setattr(copy, "CaptureFile", partial(CaptureFile, block_bytes=70_001))
    assert cut(files, *args) == whole
    assert len(whole.packets) > 100


@pytest.mark.parametrize("name", ["mid_stream-any.pcap.zst", "mid_stream-snap96.pcap.zst"])
def test_link_types_and_cut_packets_stay_what_they_are(files, name):
    packets = files.pcap_packets(files.unpacked(CAPTURES / name))
    assert cut(files, CAPTURES / name, "--packets", "1-99999").packets == packets


def test_inputs_of_several_link_types_become_several_interfaces(files):
    names = "mid_stream-any.pcap.zst", "mid_stream-snap96.pcap.zst"
    originals = [files.pcap_packets(files.unpacked(CAPTURES / name)) for name in names]
    piece = cut(files, *(CAPTURES / name for name in names), "--from", "+3s", "--to", "+4s")
    first_ns = min(packets[0].ts_ns for packets in originals)
    inside = [[p for p in ps if 3 * NS <= p.ts_ns - first_ns <= 4 * NS] for ps in originals]
    assert sorted(piece.packets) == sorted(inside[0] + inside[1])
    assert len(set(piece.linktypes)) == 2
    sentence = refused(2, *(CAPTURES / name for name in names), "--packets", "7", "--overwrite")
    assert "CAPTURE_ID:100-250" in sentence


def test_gzip_and_standard_input(files, original, here):
    raw = files.unpacked(LEADER_MOVE)
    (here / "x.bin").write_bytes(gzip.compress(raw, 1))
    assert cut(files, "x.bin", "--packets", "5-900").packets == original[4:900]
    assert cut(files, "-", "--packets", "5-900", "--overwrite", stdin=raw).packets == original[4:900]


def test_the_dataset_is_made_where_it_is_needed(files, dataset):
    kept = cut(files, dataset, "--capture", LEADER_MOVE, "--error", "not_leader_or_follower")
    made = cut(files, LEADER_MOVE, "--error", "6", "--overwrite")
    assert made.packets == kept.packets
    assert [p.name for p in Path().iterdir()] == ["piece.pcapng"]


@pytest.fixture
def stories(dataset: Path, here: Path) -> tuple[Path, dict, dict]:
    """A copy of the dataset with stories about one connection, and the third and the fifth request on it."""
    shown = here / "told.kscope"
    shutil.copytree(dataset, shown)
    rows = ds.dataset(dataset / "requests").to_table().to_pylist()
    ids = [r["conn_id"] for r in rows if r["error_name"] == "NOT_LEADER_OR_FOLLOWER"]
    mine = sorted((r for r in rows if r["conn_id"] == ids[0] and r["response_ns"]), key=lambda r: r["ts_ns"])
    third, fifth = mine[2], mine[4]
    window = {"start_ns": third["ts_ns"]}
    tables = {
        "recoveries": [{"recovery_id": "R", **window, "recovered_ns": fifth["response_ns"]}],
        "recovery_steps": [{"recovery_id": "R", "conn_id": ids[0], "ts_ns": third["ts_ns"], "duration_us": 1}],
        "startups": [{"startup_id": "S", **window, "ready_ns": fifth["response_ns"]}],
        "startup_steps": [{"startup_id": "S", "conn_id": ids[0], "end_ns": third["ts_ns"]}],
        "clients": [{"client_instance_id": "C", "conn_ids": [ids[0]]}],
        "findings": [
            {
                "finding_id": "F",
                "conn_ids": [ids[0]],
                "first_ns": 1,
                "last_ns": 1 << 61,
                "evidence": [third["request_id"]],
            },
            {"finding_id": "G", "conn_ids": [ids[0]], "first_ns": 1, "last_ns": 1 << 61, "evidence": []},
        ],
        "incidents": [
            {"incident_id": "I", **window, "end_ns": fifth["response_ns"], "evidence": [third["request_id"]]}
            | {"root_incident_id": None},
            {"incident_id": "J", **window, "end_ns": None, "evidence": [ids[0]], "root_incident_id": None},
        ],
        "stalls": [
            {"stall_id": "T", "from_ns": third["ts_ns"], "to_ns": None, "evidence": [third["request_id"]]}
            | {"incident_id": "I"}
        ],
    }
    for name, content in tables.items():
        (shown / "stories" / name).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(content), shown / "stories" / name / "part-0.parquet")
    relist(shown)
    return shown, third, fifth


def relist(place: Path) -> None:
    """Makes the manifest list the files that are there now."""
    (place / MANIFEST).write_text(Dataset.open(place).manifest.with_files(written_files(place)).to_json())


@pytest.mark.parametrize(
    ("option", "until"),
    [
        (("--recovery", "R"), "fifth"),
        (("--startup", "S"), "fifth"),
        (("--finding", "F"), "third"),
        (("--incident", "I"), "third"),
        (("--stall", "T"), "third"),
    ],
)
def test_a_story_is_its_connections_in_its_time(files, original, stories, option, until):
    shown, third, fifth = stories
    end = (fifth if until == "fifth" else third)["response_last_ns"]
    piece = cut(files, shown, *option, "--capture", LEADER_MOVE)
    stream = of_ends(
        files, original, (third["client_ip"], third["client_port"]), (third["server_ip"], third["server_port"])
    )
    assert [p for p in piece.plain if p.ts_ns >= third["ts_ns"]] == [
        p for p in stream if third["ts_ns"] <= p.ts_ns <= end
    ]
    assert piece.plain[0] == stream[0]


def test_an_incident_that_connections_prove_is_these_from_its_begin_to_its_end(files, original, stories):
    shown, third, _ = stories
    stream = of_ends(
        files, original, (third["client_ip"], third["client_port"]), (third["server_ip"], third["server_port"])
    )
    piece = cut(files, shown, "--incident", "J", "--capture", LEADER_MOVE)
    assert [p for p in piece.plain if p.ts_ns >= third["ts_ns"]] == [p for p in stream if p.ts_ns >= third["ts_ns"]]


def test_a_client_instance_and_a_finding_without_requests_are_connections(files, original, stories):
    shown, third, _ = stories
    stream = of_ends(
        files, original, (third["client_ip"], third["client_port"]), (third["server_ip"], third["server_port"])
    )
    assert cut(files, shown, "--client", "C", "--capture", LEADER_MOVE).plain == stream
    assert cut(files, shown, "--finding", "G", "--capture", LEADER_MOVE, "--overwrite").plain == stream


def test_a_finding_is_its_requests_and_the_connections_that_it_is_about(files, stories):
    shown, third, _ = stories
    rows = ds.dataset(shown / "connections").to_table().to_pylist()
    refused = sorted((r for r in rows if r["close_kind"] == "refused"), key=lambda r: r["conn_id"])[:2]
    ends = {(socket.inet_aton(row["client_ip"]), row["client_port"]) for row in (*refused, third)}
    finding = {"finding_id": "H", "conn_ids": [refused[0]["conn_id"], third["conn_id"]]}
    finding |= {"evidence": [third["request_id"], refused[1]["conn_id"]], "first_ns": 1, "last_ns": 1 << 61}
    pq.write_table(pa.Table.from_pylist([finding]), shown / "stories" / "findings" / "part-1.parquet")
    relist(shown)
    piece = cut(files, shown, "--finding", "H", "--capture", LEADER_MOVE)
    assert {end for packet in piece.plain for end in files.ends(packet)} >= ends
    request = cut(files, shown, "--finding", "F", "--capture", LEADER_MOVE, "--overwrite")
    assert set(request.plain) < set(piece.plain)
    others = [packet for packet in piece.plain if packet not in set(request.plain)]
    assert {end for packet in others for end in files.ends(packet)} & ends == ends - {
        (socket.inet_aton(third["client_ip"]), third["client_port"])
    }


def test_what_cannot_be_cut_is_said_in_one_sentence(dataset, here):
    given = (dataset, "--capture", LEADER_MOVE)
    assert "did you mean Produce" in refused(2, *given, "--api", "produc")
    assert "did you mean NOT_LEADER_OR_FOLLOWER" in refused(2, *given, "--error", "NOT_LEADER_FOLLOWER")
    assert "there are" in refused(2, *given, "--client", "nobody")
    assert "order-api-5" in refused(2, *given, "--client", "nobody")
    assert "clicks-leader60" in refused(2, *given, "--topic", "nothing")
    assert "no such connection" in refused(2, *given, "--connection", "10.9.9.9:1")
    assert "needs the table stories/findings" in refused(2, *given, "--finding", "F")
    assert "needs the table stories/startups" in refused(2, *given, "--startup", "S")
    assert "need a dataset with stories" in refused(2, LEADER_MOVE, "--recovery", "R")
    assert "--from is after --to" in refused(2, *given, "--from", "+9s", "--to", "+8s")
    assert "no packet matches --from +3600s" in refused(2, *given, "--from", "+3600s")
    assert "not a time" in refused(2, *given, "--from", "noon")
    assert "say what to cut" in refused(2, LEADER_MOVE)
    assert "no such file" in refused(3, "missing.pcap", "--packets", "1")


def test_a_piece_that_is_there_stays(files, here):
    (here / "piece.pcapng").write_bytes(b"mine")
    assert "is there already" in refused(2, LEADER_MOVE, "--packets", "1")
    assert "no packet matches" in refused(2, LEADER_MOVE, "--from", "+3600s", "--overwrite")
    assert (here / "piece.pcapng").read_bytes() == b"mine"
    assert len(cut(files, LEADER_MOVE, "--packets", "1", "--overwrite").packets) == 1


def test_an_input_is_never_overwritten(here, files):
    (here / "piece.pcapng").write_bytes(files.unpacked(LEADER_MOVE)[:5000])
    assert "is a capture that is being cut" in refused(2, "piece.pcapng", "--packets", "1", "--overwrite")


def test_captures_of_a_dataset_are_proved_to_be_the_same(files, original, here):
    raw = files.unpacked(CAPTURES / "healthy_basic.pcap.zst")
    (here / "in").mkdir()
    (here / "in" / "a.pcap").write_bytes(raw)
    ingest([Path("in/a.pcap")], here / "a.kscope")
    packets = files.pcap_packets(raw)
    assert cut(files, "a.kscope", "--packets", "1-9").packets == packets[:9]

    (here / "in" / "a.pcap").rename(here / "a.pcap")
    beside = cut(files, "a.kscope", "--packets", "1-9", "--overwrite")
    assert beside.packets == packets[:9], "a capture beside the dataset is found"

    (here / "a.pcap").rename(here / "in" / "b.pcap")
    assert "say where with --capture PATH" in refused(2, "a.kscope", "--packets", "1", "--overwrite")
    moved = cut(files, "a.kscope", "--packets", "1-9", "--overwrite", "--capture", "in/b.pcap")
    assert moved.packets == packets[:9]

    changed = bytearray(raw)
    changed[-1] ^= 1
    (here / "a.pcap").write_bytes(changed)
    assert "not the file any more" in refused(2, "a.kscope", "--packets", "1", "--overwrite")
    assert "none of the given captures" in refused(
        2, "a.kscope", "--packets", "1", "--overwrite", "--capture", "a.pcap"
    )
    assert "was not made from this file" in refused(
        2, "a.kscope", "--packets", "1", "--overwrite", "--capture", "a.pcap", "--capture", "in/b.pcap"
    )


def test_comments_hold_no_control_characters(files, dataset):
    piece = cut(files, dataset, "--capture", LEADER_MOVE, "--client", "order-api-5", "--whole-connections")
    said = [text for packet in piece.packets for text in packet.comments]
    assert said
    assert all(text.isprintable() and len(text) < 1000 for text in said)


# -- tshark


def tshark(path: Path | str, *args: str) -> list[list[str]]:
    ports = [part for port in (9092, 9093, 29092) for part in ("-d", f"tcp.port=={port},kafka")]
    said = subprocess.run(["tshark", "-r", str(path), *ports, *args], capture_output=True, text=True, check=True)
    return [line.split("\t") for line in said.stdout.splitlines()]


@pytest.fixture(scope="module")
def plain(files, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "leader_move.pcap"
    path.write_bytes(files.unpacked(LEADER_MOVE))
    return path


@needs_tshark
def test_tshark_shows_brokers_by_name(files, dataset):
    broker = row(dataset, "connections", ds.field("node_id") == 2)
    cut(files, dataset, "--connection", broker["conn_id"], "--capture", LEADER_MOVE)
    pairs = tshark("piece.pcapng", "-N", "n", "-T", "fields", "-e", "ip.addr", "-e", "ip.host")
    named = {frozenset(zip(ips.split(","), names.split(","), strict=True)) for ips, names in pairs}
    assert named == {frozenset({(broker["server_ip"], "broker-2"), (broker["client_ip"], broker["client_ip"])})}


def test_host_names_that_brokers_advertise_are_their_names(small, here):
    place = small.write_dataset(here / "small.kscope")
    at = {"conn_id": "c9", "protocol": "kafka", "server_port": 9092, "client_ip": "10.0.0.1", "client_port": 1}
    ends = [
        ("10.0.0.1", 1, "kafka-a.example"),
        ("fd00::2", 2, "fd00::2"),
        ("10.0.0.3", 3, None),
        ("10.0.0.3", 4, "::1"),
    ]
    rows = [{**at, "server_ip": ip, "node_id": node, "advertised_host": host} for ip, node, host in ends]
    small.write_table(place, small.TABLES["connections"], rows)
    names = broker_names(Dataset.open(place))
    assert names == {"10.0.0.1": "kafka-a.example", "fd00::2": "broker-2", "10.0.0.3": "brokers-3-4"}
    with Path("names.pcapng").open("wb") as file:
        PcapngWriter(file, Section("kafkascope", "", names))
    data = Path("names.pcapng").read_bytes()
    for ip, name in names.items():
        address = ipaddress.ip_address(ip)
        record = struct.pack("<HH", 1 if address.version == 4 else 2, len(address.packed) + len(name) + 1)
        assert record + address.packed + name.encode() + b"\0" in data


@needs_tshark
def test_the_command_that_is_printed_makes_wireshark_decode_kafka_on_any_port(files, here):
    whole = here / "bulk.pcapng"
    whole.write_bytes(files.unpacked(ROOT / "benchmarks" / "data" / "bulk.pcapng.zst"))
    ingest([whole], here / "bulk.kscope")
    result = run(here / "bulk.kscope", "--api", "Metadata")
    assert result.exit_code == 0, result.output
    command = result.stdout.splitlines()[1].split()
    assert command == ["wireshark", "piece.pcapng", "-d", "tcp.port==29092,kafka"]
    said = subprocess.run(["tshark", "-r", *command[1:], "-Y", "kafka.api_key==3"], capture_output=True, check=True)
    assert said.stdout


KAFKA = ["-T", "fields", "-e", "frame.time_epoch", "-e", "kafka.api_key", "-e", "kafka.correlation_id"]


@pytest.mark.slow
@needs_tshark
def test_tshark_opens_it_and_counts_the_same(files, plain, dataset):
    chosen = row(dataset, "connections", ds.field("n_requests") > 100)
    ends = f"tcp.port=={chosen['client_port']} && tcp.port=={chosen['server_port']}"
    of_all = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.cap_len"]
    cut(files, dataset, "--connection", chosen["conn_id"], "--capture", LEADER_MOVE)
    assert tshark("piece.pcapng", *of_all) == tshark(plain, "-Y", ends, *of_all)
    assert tshark("piece.pcapng", "-T", "fields", "-e", "tcp.stream") == [["0"]] * len(tshark(plain, "-Y", ends))


@pytest.mark.slow
@needs_tshark
def test_pcapng_packets_keep_time_and_lengths(files, here):
    (here / "ng.pcapng").write_bytes(files.unpacked(CAPTURES / "mid_stream-ng.pcapng.zst"))
    cut(files, "ng.pcapng", "--packets", "1-999999")
    of_all = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.cap_len", "-e", "tcp.seq_raw"]
    assert tshark("piece.pcapng", *of_all) == tshark("ng.pcapng", *of_all)


@pytest.mark.slow
@needs_tshark
def test_tshark_finds_the_errors_that_were_asked_for(files, plain, dataset):
    wanted = ["-Y", "kafka.error==6", *KAFKA]
    errors = {line[0] for line in tshark(plain, *wanted)}
    cut(files, dataset, "--error", "NOT_LEADER_OR_FOLLOWER", "--capture", LEADER_MOVE, "--margin", "0.001")
    assert errors
    assert errors == {line[0] for line in tshark("piece.pcapng", *wanted)}


@pytest.mark.slow
@needs_tshark
def test_tshark_reads_the_requests_of_a_piece_as_it_read_them_in_the_whole(files, here):
    """Large frames over many segments, pipelined: a part that began inside one would be read as rubbish."""
    source = ROOT / "benchmarks" / "data" / "bulk.pcapng.zst"
    whole = here / "whole.pcapng"
    whole.write_bytes(files.unpacked(source))
    ingest([whole], here / "bulk.kscope")
    large = (ds.field("api_key") == 0) & (ds.field("request_bytes") > 50_000)
    requests = ds.dataset(here / "bulk.kscope" / "requests").to_table(filter=large).sort_by("ts_ns").to_pylist()
    inside = requests[len(requests) // 2]
    middle = (inside["ts_ns"] + inside["request_last_ns"]) // 2 - files.pcapng_packets(whole.read_bytes()).packets[
        0
    ].ts_ns
    cut(files, here / "bulk.kscope", "--connection", inside["conn_id"], "--from", f"+{middle}ns")
    seen = ["-Y", "kafka", "-T", "fields", "-e", "frame.time_epoch", "-e", "kafka.correlation_id"]
    before = {tuple(line) for line in tshark(whole, *seen)}
    after = {tuple(line) for line in tshark("piece.pcapng", *seen)}
    produced = {line[2] for line in tshark("piece.pcapng", "-Y", "kafka.api_key==0 && tcp.dstport==29092", *KAFKA)}
    assert after <= before
    assert str(inside["correlation_id"]) in produced
