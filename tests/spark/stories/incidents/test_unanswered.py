"""Requests that a broker never answers while it answers others: by hand, and in a capture that lacks one's response."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import dpkt
import pyarrow.parquet as pq
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.api_keys import FETCH, PRODUCE
from kafkascope_spark.stories.incidents.errors.unanswered import unanswered_failures
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.packets.latencies import Latencies, Latency
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest, unanswered_requests
from kafkascope_spark.stories.incidents.rows.incident_rows import incident_id, incident_row
from kafkascope_spark.stories.stalls.table import Stall

from .conftest import NS, MakeStall

CAPTURE = Path(__file__).parents[4] / "fixtures" / "captures" / "healthy_basic.pcap.zst"


def sent(since: float, until: float | None = None, *, node: int = 1, api_key: int = FETCH) -> UnansweredRequest:
    until_ns = FOREVER if until is None else int(until * NS)
    who = "10.0.0.21", "orders", node, "10.0.0.1", 9092, None, 7
    return UnansweredRequest(
        f"r-{since}", "c1", api_key, "Fetch", int(since * NS), *who, "unanswered", None, None, until_ns=until_ns
    )


def told(stalls: list[Stall], *requests: UnansweredRequest) -> list[Failure]:
    others = {("10.0.0.22", 1): Latency(204), ("10.0.0.22", 2): Latency(7)}
    return list(unanswered_failures(stalls, lambda *_: requests, lambda asked: [Latencies(others) for _ in asked]))


def test_a_stall_waits_for_the_request_that_was_never_answered(stall: MakeStall) -> None:
    stalls = [stall("consume", 21, 1, at, None, group_id="g") for at in (10, 11)]
    (failure,) = told(stalls, sent(9.5))
    assert (failure.kind.name, failure.node_id, failure.hosts) == ("unanswered", 1, {"10.0.0.21"})
    assert (len(failure.stalls), failure.end_ns) == (2, None)
    sentence = failure.kind.sentence(failure, Times(0))
    assert "Node 1 (10.0.0.1:9092) never answered Fetch of orders (10.0.0.21), sent at 00:09.500" in sentence
    assert "while it answered 204 other requests" in sentence


@pytest.mark.parametrize(
    "request_",
    [sent(9.5, 11), sent(15), sent(9.5, node=2), sent(9.5, api_key=PRODUCE)],
    ids=["its connection ended soon", "it was sent late", "to another node", "of another kind"],
)
def test_other_requests_do_not_explain_a_stall(stall: MakeStall, request_: UnansweredRequest) -> None:
    assert not told([stall("consume", 21, 1, 10, 16, group_id="g")], request_)


def test_the_request_is_the_first_evidence(stall: MakeStall) -> None:
    (failure,) = told([stall("consume", 21, 1, 10, None, group_id="g")], sent(9.5))
    row = incident_row(failure, Observed(failure, {}, ()), incident_id, 0)
    assert row.evidence[0] == "r-9.5"
    assert (row.place, row.severity) == ("broker", "error")


def test_members_wait_for_each_other_and_not_for_a_broker(stall: MakeStall) -> None:
    assert not told([stall("membership", 21, 1, 10, 16, group_id="g")], sent(9.5))


def test_stalls_long_after_each_other_are_two_failures(stall: MakeStall) -> None:
    stalls = [stall("consume", 21, 1, at, at + 5, group_id="g") for at in (10, 40)]
    assert [len(failure.stalls) for failure in told(stalls, sent(9.5, 15), sent(39, 45))] == [1, 1]


Packet = tuple[float, bytes]


def packets() -> Iterator[Packet]:
    with zstandard.ZstdDecompressor().stream_reader(CAPTURE.open("rb")) as stream:
        yield from dpkt.pcap.Reader(io.BytesIO(stream.read()))


def cut_to(data: bytes, n: int) -> bytes:
    """A packet with the first bytes of its payload alone."""
    frame = dpkt.ethernet.Ethernet(data)
    frame.data.data.data = frame.data.data.data[:n]
    frame.data.len, frame.data.sum, frame.data.data.sum = len(frame.data), 0, 0
    return bytes(frame)


def without_answer(port: int, since: float, *, begun: bool) -> Iterator[tuple[Packet, bool]]:
    """The capture, of whose connection from a port nothing is left from a time on but one request, which is True, and
    perhaps the first 20 bytes of its response."""
    asked = answered_in_part = False
    for at, data in packets():
        tcp = dpkt.ethernet.Ethernet(data).data.data
        ports = (tcp.sport, tcp.dport) if isinstance(tcp, dpkt.tcp.TCP) else ()
        if port not in ports or at <= since:
            yield (at, data), False
        elif not asked and tcp.sport == port and len(tcp.data):
            asked = True
            yield (at, data), True
        elif begun and asked and not answered_in_part and tcp.dport == port and len(tcp.data):
            answered_in_part = True
            yield (at, cut_to(data, 20)), False


@pytest.mark.parametrize("begun", [False, True])
def test_the_request_is_found_in_the_packets(ingested: Callable[..., Path], tmp_path: Path, begun: bool) -> None:
    """A consumer's connection to a leader, from the middle of its Fetch requests on."""
    rows = pq.read_table(ingested(CAPTURE) / "requests").to_pylist()
    of_consumers = [row for row in rows if row["api_key"] == FETCH and (row["replica_id"] or -1) < 0]
    busiest = max(of_consumers, key=lambda row: sum(row["conn_id"] == other["conn_id"] for other in of_consumers))
    mine = sorted(row["ts_ns"] for row in of_consumers if row["conn_id"] == busiest["conn_id"])
    since = mine[len(mine) // 2] / NS + 1e-6
    path, number = tmp_path / "unanswered.pcap", 0
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file, nano=True)
        for n, ((at, data), is_asked) in enumerate(without_answer(busiest["client_port"], since, begun=begun), 1):
            writer.writepkt(data, at)
            number = n if is_asked else number
    ingest([path], tmp_path / "x.kscope", IngestOptions(jobs=1))
    dataset = Dataset.open(tmp_path / "x.kscope")
    (found,) = [row for row in unanswered_requests(dataset, FOREVER, {FETCH}) if row.request_packet_no == number]
    assert found.has_begun == begun
    assert (found.client_ip, found.node_id, found.until_ns) == (busiest["client_ip"], busiest["node_id"], FOREVER)
