"""The questions of docs/questions.md, asked as the page prints them, against what others say about the same capture:
the brokers' request log, the clients' own output, the kernel's sockets, and tshark.
"""

import gzip
import json
import math
import re
import shlex
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "fixtures" / "captures"
CAPTURE = CAPTURES / "leader_move.pcap.zst"
PAGE = (ROOT / "docs" / "questions.md").read_text("utf-8")
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def truth() -> Any:
    return json.loads((CAPTURES / "leader_move.truth.json").read_text())


@pytest.fixture(scope="module")
def log(truth: Any) -> Rows:
    """What the brokers logged of the requests that they answered while the capture ran."""
    capture = truth["captures"][0]
    with gzip.open(CAPTURES / "leader_move.requests.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    return [
        line for line in lines if capture["first_packet_ns"] / 1e6 <= line["ts_ms"] <= capture["last_packet_ns"] / 1e6
    ]


@pytest.fixture
def ask(leader_move: Path) -> Callable[[str], Rows]:
    def asked(heading: str) -> Rows:
        """The rows of the command that the page prints below a heading."""
        section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
        (command,) = re.findall(r"^    kafkascope (sql leader_move\.kscope .*)$", section, re.MULTILINE)
        words = [str(leader_move) if word == "leader_move.kscope" else word for word in shlex.split(command)]
        result = CliRunner().invoke(app, [*words, "--format", "json"])
        assert result.exit_code == 0, result.output
        return list(json.loads(result.stdout))

    return asked


def other(dataset: Path, *words: str) -> Rows:
    result = CliRunner().invoke(app, ["sql", str(dataset), *words, "--format", "json"])
    assert result.exit_code == 0, result.output
    return list(json.loads(result.stdout))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pcap") / "leader_move.pcap"
    subprocess.run(["zstd", "-q", "-d", str(CAPTURE), "-o", str(place)], check=True)
    return place


def tshark(capture: Path, only: str, *fields: str) -> list[list[str]]:
    shown = [part for field in fields for part in ("-e", field)]
    command = ["tshark", "-r", str(capture), "-d", "tcp.port==9092,kafka", "-Y", only, "-T", "fields", *shown]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_the_page_has_ten_questions_of_one_line_each() -> None:
    ten = PAGE.partition("## More questions")[0].split("\n## ")[1:]
    assert len(ten) == 10
    assert all(len(re.findall(r"^    kafkascope ", section, re.MULTILINE)) == 1 for section in ten)


def test_p99_by_broker_and_minute_is_that_of_the_brokers_log(ask: Callable[[str], Rows], log: Rows) -> None:
    logged = defaultdict(list)
    for line in log:
        if line["api"] == "PRODUCE":
            logged[line["node"], line["ts_ms"] // 60_000].append(line["total_ms"])
    rows = ask("How slow was each broker, minute by minute?")
    assert [row["n"] for row in rows] == [len(logged[key]) for key in sorted(logged)]
    for row, key in zip(rows, sorted(logged), strict=True):
        p99_ms = sorted(logged[key])[math.ceil(0.99 * row["n"]) - 1]
        assert row["node_id"] == key[0]
        assert row["p99_us"] / 1000 == pytest.approx(p99_ms, abs=8)  # on the wire it is a little longer than in the log


def test_lag_is_what_producers_got_accepted_and_consumers_did_not_print(ask: Callable[[str], Rows], truth: Any) -> None:
    accepted = sum(client["closed"]["acked"] for client in truth["clients"])
    received = {client["group"]: client["closed"]["received"] for client in truth["clients"] if client["group"]}
    last = {row["group_id"]: row["lag_last"] for row in ask("How far behind was each group, over time?")}
    assert last == {group: accepted - n for group, n in received.items()}
    highest = {row["group_id"]: row["lag_max"] for row in ask("How far behind was each group, over time?")}
    assert all(lag < accepted for lag in highest.values())


def test_who_asked_brokers_that_do_not_lead_is_what_these_answered(ask: Callable[[str], Rows], truth: Any) -> None:
    answered: Counter[tuple[str, int]] = Counter()
    for client in truth["clients"]:
        for socket in client["sockets"]:
            n = (socket.get("error_codes") or {}).get("PRODUCE 6", 0)
            answered[client["client_id"], socket["remote_node"]] += n
    rows = ask("Who asked brokers that do not lead?")
    found: Counter[tuple[str, int]] = Counter()
    for row in rows:
        found[row["client_id"], row["node_id"]] += row["n"]
    assert {row["api_name"] for row in rows} == {"Produce"}
    assert found == +answered


@pytest.mark.slow
@needs_tshark
def test_resets_are_the_packets_that_tshark_shows(ask: Callable[[str], Rows], unpacked: Path) -> None:
    packets = Counter(tuple(line) for line in tshark(unpacked, "tcp.flags.reset==1", "ip.src", "ip.dst"))
    found: Counter[tuple[str, ...]] = Counter()
    for row in ask("Who reset connections?"):
        ends = (row["client_ip"], row["server_ip"])
        found[ends if row["sent_by"] == "client" else ends[::-1]] += row["n"]
    assert found == packets


@pytest.mark.slow
@needs_tshark
def test_the_largest_batches_are_those_of_tshark(ask: Callable[[str], Rows], unpacked: Path) -> None:
    """tshark knows the version of Produce that one of the producers speaks. Before the size that it shows a batch has
    12 bytes: its offset, and the size itself."""
    only = 'kafka.api_key==0 && kafka.client_id=="order-api-2"'
    sizes = [int(size) + 12 for (line,) in tshark(unpacked, only, "kafka.message_size") for size in line.split(",")]
    rows = ask("What were the largest batches?")
    assert [row["batch_bytes"] for row in rows] == sorted((row["batch_bytes"] for row in rows), reverse=True)
    shown = [row["batch_bytes"] for row in rows if row["client_id"] == "order-api-2"]
    assert shown == [size for size in sorted(sizes, reverse=True) if size >= rows[-1]["batch_bytes"]][: len(shown)]
    assert len(rows) == 10


def test_versions_of_fetch_by_library_are_those_of_the_brokers_log(ask: Callable[[str], Rows], log: Rows) -> None:
    brokers = ("broker-", "raft-client-")
    fetches = [line for line in log if line["api"] == "FETCH" and not line["client_id"].startswith(brokers)]
    rows = ask("Which versions of Fetch does each library speak?")
    found = {(f"{row['software_name']}/{row['software_version']}", row["api_version"]): row["n"] for row in rows}
    consumers = Counter((line["sw"], line["v"]) for line in fetches)
    assert found.keys() == consumers.keys()
    assert all(0 <= found[key] - n <= 6 for key, n in consumers.items())  # a broker that is killed logs no answer


def test_who_wrote_to_a_topic(ask: Callable[[str], Rows], truth: Any) -> None:
    wrote = {
        (client["client_id"], client["host_ip"]): client["closed"]["acked"]
        for client in truth["clients"]
        if client["kind"] == "producer"
    }
    rows = ask("Who wrote to this topic?")
    found = {(row["client_id"], row["client_ip"]): row["records_written"] for row in rows}
    assert found.keys() == wrote.keys()
    assert all(0 <= found[who] - n <= 4 for who, n in wrote.items())  # records that were sent twice
    assert {row["client_id"]: row["software_name"] for row in rows}["order-api-2"] == "aiokafka"


def test_first_records_after_a_rebalance_come_before_the_client_prints_them(
    ask: Callable[[str], Rows], truth: Any
) -> None:
    printed = {client["client_id"]: client["first_record_ns"] for client in truth["clients"] if client["group"]}
    rows = ask("When did each member get records after a rebalance?")
    assert {row["client_id"] for row in rows} == printed.keys()
    for row in rows:
        first_ns = _nanoseconds(row["first_records"])
        assert 0 <= printed[row["client_id"]] - first_ns < 60_000_000  # as late as a client's log line may be


def _nanoseconds(text: str) -> int:
    from datetime import UTC, datetime

    whole, _, rest = text.replace("Z", "").partition(".")
    seconds = int(datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp())
    return seconds * 10**9 + int(rest.ljust(9, "0") or 0)


def test_the_configuration_of_a_client_is_what_it_was_started_with(ask: Callable[[str], Rows], truth: Any) -> None:
    (client,) = [client for client in truth["clients"] if client["client_id"] == "order-api-2"]
    acks = client["argv"][client["argv"].index("--acks") + 1]
    rows = {row["setting"]: row for row in ask("How is this client configured?")}
    assert rows["acks"]["setting_value"] == acks == "1"
    assert rows["compression_type"]["setting_value"] == "none"
    assert all(row["shown_by"] and row["request_id"] for row in rows.values())


def test_bytes_between_racks_are_those_of_the_streams_between_their_hosts(
    ask: Callable[[str], Rows], truth: Any
) -> None:
    racks = {broker["ip"]: broker["rack"] for broker in truth["cluster"]["brokers"]}
    streams = json.loads((ROOT / "fixtures" / "wire" / "tshark_streams.json").read_text())[CAPTURE.name]
    crossing: Counter[tuple[str, str]] = Counter()
    for stream in streams:
        ends = [node.rpartition(":")[0] for node in stream["nodes"]]
        if all(end in racks for end in ends) and racks[ends[0]] != racks[ends[1]]:
            crossing[tuple(sorted(racks[end] for end in ends))] += sum(stream["bytes"])  # type: ignore[index]
    found: Counter[tuple[str, str]] = Counter()
    for row in ask("How many bytes went from rack to rack?"):
        pair = sorted((row["client_rack"], row["broker_rack"]))
        found[pair[0], pair[1]] += row["bytes_sent"] + row["bytes_received"]
    assert found == crossing


def test_owners_of_a_topics_clients(leader_move: Path, tmp_path: Path) -> None:
    (tmp_path / "owners.txt").write_text("orders team: order-*  # by client id\nsearch team: search-indexer-*\n")
    rows = other(leader_move, "--run", "topic-users", "--owners", str(tmp_path / "owners.txt"))
    assert {row["client_id"]: row["owners"] for row in rows} == {
        "order-api-2": "orders team",
        "order-api-5": "orders team",
        "svc-a-4": "search team",  # by its group
        "svc-b-6": "search team",
        "svc-a-1": None,
        "worker-3": None,
    }
    (tmp_path / "owners.txt").write_text("orders team\n")
    result = CliRunner().invoke(app, ["sql", str(leader_move), "from owners", "--owners", str(tmp_path / "owners.txt")])
    assert result.exit_code == 2
    assert "line 1: expected `owner: glob`" in result.stderr
