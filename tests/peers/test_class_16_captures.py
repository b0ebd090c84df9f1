"""Class 16. Captures: cut packets, snaplen 96, time going backwards, retransmissions with other bytes, keep-alives with
a garbage byte, segments over 64 kB, RST with data, port mirroring. Other links and file formats: tests/parsers/link and
capture; overlaps, sequence wrap: tests/parsers/tcp.
"""

import pytest


def test_snaplen_96(w, read):
    c = w.Conversation()
    for i in range(1, 6):
        c.from_client(w.metadata(i, b"a-topic-with-a-name-far-too-long-for-this")).from_server(w.metadata_answer(i))
    found = read(c, snaplen=96)
    assert found.protocols == ["kafka"]
    assert sorted(found.requests) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("back_ns", [1, 5_000_000, 3_600_000_000_000])
def test_time_going_backwards(w, read, back_ns):
    """The clock is set back in the middle: before the answer, and again before the last one."""
    c = (
        w.Conversation()
        .from_client(w.metadata(1))
        .from_server(w.metadata_answer(1))
        .from_client(w.metadata(2))
        .from_server(w.metadata_answer(2))
    )

    def set_back(packets):
        n = len(packets)
        return [(ts_ns - back_ns * ((i >= n - 3) + (i >= n - 1)), raw) for i, (ts_ns, raw) in enumerate(packets)]

    found = read(c, shown=set_back)
    assert found.requests == {1: "ok", 2: "ok"}
    assert len(found.protocols) == 1


def test_a_retransmission_with_other_bytes(w, read):
    c = w.Conversation().from_client(w.metadata(1))
    c.seq[0] -= len(w.metadata(1))
    c.from_client(b"\xff" * len(w.metadata(1))).from_client(w.metadata(2))
    assert read(c).requests == {1: "unanswered", 2: "unanswered"}


def test_a_keep_alive_with_a_garbage_byte(w, read):
    c = w.Conversation().from_client(w.metadata(1)).from_server(w.metadata_answer(1))
    c.seq[0] -= 1
    c.from_client(b"\0").from_client(w.metadata(2)).from_server(w.metadata_answer(2))
    assert read(c).requests == {1: "ok", 2: "ok"}


def test_segments_over_64_kb(w, read):
    """Offloads hand the capture what is cut into packets only later; the IP length is 0 then."""
    answer = w.metadata_answer(1, partitions=(1,) * 6000)
    assert len(answer) > 150_000
    found = read(
        w.Conversation().from_client(w.metadata(1)).from_server(answer, mss=len(answer)).from_client(w.metadata(2))
    )
    assert found.requests == {1: "ok", 2: "unanswered"}
    assert sum(row["kind"] == "leader" for row in found.table("topology")) == 6000


def test_an_rst_with_data(w, read):
    """Some stacks say in an RST why; that is no part of the stream (RFC 9293, 3.5.3)."""
    c = w.Conversation().from_client(w.metadata(1)).from_server(w.metadata_answer(1)).from_client(w.metadata(2))
    c._packet(1, b"connection refused by policy", 0x14)
    found = read(c)
    assert found.requests == {1: "ok", 2: "unanswered"}
    assert [row["close_kind"] for row in found.table("connections")] == ["rst_server"]
    assert found.reasons == {}


def test_port_mirroring_duplicates(w, read):
    c = (
        w.Conversation()
        .from_client(w.metadata(1))
        .from_server(w.metadata_answer(1))
        .from_client(w.metadata(2))
        .from_server(w.metadata_answer(2))
    )
    found = read(c, shown=w.twice)
    assert found.requests == {1: "ok", 2: "ok"}
    assert [row["n_duplicates"] for row in found.table("captures")] == [len(c.packets)]
    assert [row["retransmitted"] for row in found.table("connections")] == [0]


def test_a_vxlan_mirror(w, read):
    c = w.Conversation().from_client(w.metadata(1)).from_server(w.metadata_answer(1))
    found = read(c, shown=w.in_vxlan)
    assert found.requests == {1: "ok"}
    assert [row["client_ip"] for row in found.table("connections")] == ["10.0.0.1"]
