"""Class 15. Frames over 1 MB, over 100 MiB; Metadata with 100,000 partitions; Fetch with hundreds of topics."""

import struct

import pytest


@pytest.mark.slow
def test_metadata_with_100_000_partitions(w, read):
    answer = w.metadata_answer(1, partitions=(1,) * 100_000)
    found = read(w.Conversation().from_client(w.metadata(1)).from_server(answer, mss=60_000).from_client(w.metadata(2)))
    assert found.requests == {1: "ok", 2: "unanswered"}
    assert sum(row["kind"] == "leader" for row in found.table("topology")) == 100_000


def test_fetch_of_hundreds_of_topics(w, read):
    topics = b"".join(w.string(b"topic-%d" % n) + struct.pack(">iiqi", 1, 0, 0, 1 << 20) for n in range(500))
    body = struct.pack(">iiiibi", -1, 500, 1, 1 << 20, 0, 500) + topics
    found = read(w.Conversation().from_client(w.request(1, 4, 1, body)).from_client(w.metadata(2)))
    assert found.requests == {1: "unanswered", 2: "unanswered"}
    assert len(found.table("partitions")) == 500


def test_a_request_over_100_mib_is_passed_over(w, read):
    size = 101 << 20
    head = struct.pack(">i", size) + w.produce(2, 7, 1)[4:]
    c = w.Conversation().from_client(w.metadata(1)).from_client(head).lose(0, size + 4 - len(head))
    later = range(3, 20)  # one packet so far ahead is not believed, many are
    for i in later:
        c.from_client(w.metadata(i))
    found = read(c)
    assert found.requests == {1: "unanswered", 2: "undecoded"} | dict.fromkeys(later[-2:], "unanswered")
    assert found.reasons == {"oversize": len(head)}
