"""A repeated exchange is the real one with sequence numbers, correlation ids and times that go on; dpkt reads it."""

from collections.abc import Callable
from pathlib import Path

import dpkt
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from benchmarks.repeating import LEAST_STEP_NS, Exchange, write_repeated

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.run import ingest

CAPTURE = Path(__file__).parents[2] / "fixtures" / "captures" / "leader_move.pcap.zst"
TIMES = 5
Flow = tuple[bytes, int, bytes, int]


@pytest.fixture(scope="module")
def source(ingested: Callable[..., Path]) -> Dataset:
    return Dataset.open(ingested(CAPTURE))


@pytest.fixture(scope="module", params=[False, True], ids=["succeeded", "failed"])
def repeated(
    source: Dataset, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Exchange]:
    out = tmp_path_factory.mktemp("repeated") / "out.pcap"
    return out, write_repeated(CAPTURE, source.read("requests"), request.param, TIMES, out)


def streams(path: Path, conn_packet: int) -> tuple[bytes, bytes]:
    """Payload of both directions of the connection that the packet (a number from 0) belongs to: the direction of that
    packet, and the other one. Asserts that every segment begins where the one before it ended, or repeats old bytes.
    """
    with path.open("rb") as file:
        packets = [dpkt.ethernet.Ethernet(data).data for _, data in dpkt.pcap.Reader(file)]
    flow = flow_of(packets[conn_packet])
    assert flow is not None
    return joined(packets, flow), joined(packets, (*flow[2:], *flow[:2]))


def flow_of(ip: object) -> Flow | None:
    if not isinstance(ip, dpkt.ip.IP) or not isinstance(ip.data, dpkt.tcp.TCP):
        return None
    return ip.src, ip.data.sport, ip.dst, ip.data.dport


def joined(packets: list[dpkt.ip.IP], flow: Flow) -> bytes:
    out, expected = b"", None
    for ip in packets:
        if flow_of(ip) != flow or ip.data.flags & (dpkt.tcp.TH_SYN | dpkt.tcp.TH_RST):
            continue
        payload = bytes(ip.data.data)
        ahead = 0 if expected is None else (ip.data.seq - expected + 2**31) % 2**32 - 2**31
        assert ahead <= 0, "a gap"
        if payload and ahead == 0:
            out += payload
            expected = (ip.data.seq + len(payload)) % 2**32
        elif expected is None:
            expected = ip.data.seq
        if ip.data.flags & dpkt.tcp.TH_FIN:
            expected += 1
    return out


def correlation_ids(stream: bytes, at: int) -> list[int]:
    """Of each Kafka frame of a stream, the id at this place after the length."""
    ids = []
    while len(stream) >= 12:
        length = int.from_bytes(stream[:4], "big")
        ids.append(int.from_bytes(stream[4 + at : 8 + at], "big"))
        stream = stream[4 + length :]
    return ids


def test_streams_have_no_gap_and_correlation_ids_count_up(repeated: tuple[Path, Exchange]) -> None:
    path, exchange = repeated
    row = exchange.request
    requests, responses = streams(path, int(exchange.packets[0]))
    asked, answered = correlation_ids(requests, 4), correlation_ids(responses, 0)
    first = row["correlation_id"]
    begin = asked.index(first)
    assert asked[begin : begin + TIMES + 1] == list(range(first, first + TIMES + 1))
    assert asked == sorted(set(asked))
    assert answered[: len(asked)] == asked[: len(answered)]


def test_packets_are_those_of_the_source_and_the_repetitions(repeated: tuple[Path, Exchange], source: Dataset) -> None:
    path, exchange = repeated
    with path.open("rb") as file:
        times = [round(ts * 10**9) for ts, _ in dpkt.pcap.Reader(file)]
    n_packets = pc.sum(source.read("captures", ["n_packets"])["n_packets"]).as_py()
    assert len(times) == n_packets + TIMES * len(exchange.packets)
    first, last = int(exchange.packets[0]), int(exchange.packets[-1])
    inserted = times[last + 1 : last + 1 + TIMES * len(exchange.packets) : len(exchange.packets)]
    expected = [times[first] + (i + 1) * exchange.step_ns for i in range(TIMES)]
    assert inserted == pytest.approx(expected, abs=1_000)
    assert exchange.step_ns >= LEAST_STEP_NS


def test_requests_and_errors_grow_by_the_repetitions(
    repeated: tuple[Path, Exchange], source: Dataset, tmp_path: Path
) -> None:
    path, exchange = repeated
    ingest([path], tmp_path / "out.kscope")
    more = Dataset.open(tmp_path / "out.kscope")
    assert more.rows("requests") == source.rows("requests") + TIMES
    assert more.rows("errors") == source.rows("errors") + TIMES * exchange.request["n_errors"]
    assert more.rows("undecoded") == source.rows("undecoded")
    of_client = pc.field("client_id") == exchange.request["client_id"]
    ids = [data.read("requests", ["correlation_id"], of_client)["correlation_id"] for data in (source, more)]
    assert pc.max(ids[1]).as_py() == pc.max(ids[0]).as_py() + TIMES


def test_an_exchange_that_is_not_there_ends_the_command(source: Dataset, tmp_path: Path) -> None:
    none = pa.Table.from_batches([], source.read("requests").schema)
    with pytest.raises(SystemExit, match="no such exchange"):
        write_repeated(CAPTURE, none, True, TIMES, tmp_path / "out.pcap")
