"""Class 16. Captures: cut packets, snaplen 96, time going backwards, retransmissions with other bytes, keep-alives with
a garbage byte, segments over 64 kB, zero-length packets. Links and file formats: tests/parsers/link and capture.
"""


def test_snaplen_96(w, read):
    c = w.Conversation()
    for i in range(1, 6):
        c.ask(w.metadata(i, b"a-topic-with-a-name-far-too-long-for-this")).tell(w.metadata_answer(i))
    found = read(c, snaplen=96)
    assert found.protocols == ["kafka"]
    assert sorted(found.requests) == [1, 2, 3, 4, 5]


def test_time_going_backwards(w, read):
    c = w.Conversation().ask(w.metadata(1)).tell(w.metadata_answer(1)).ask(w.metadata(2)).tell(w.metadata_answer(2))
    assert read(c).requests == {1: "ok", 2: "ok"}


def test_a_retransmission_with_other_bytes(w, read):
    c = w.Conversation().ask(w.metadata(1))
    c.seq[0] -= len(w.metadata(1))
    c.ask(b"\xff" * len(w.metadata(1))).ask(w.metadata(2))
    assert read(c).requests == {1: "unanswered", 2: "unanswered"}


def test_a_keep_alive_with_a_garbage_byte(w, read):
    c = w.Conversation().ask(w.metadata(1)).tell(w.metadata_answer(1))
    c.seq[0] -= 1
    c.ask(b"\0").ask(w.metadata(2)).tell(w.metadata_answer(2))
    assert read(c).requests == {1: "ok", 2: "ok"}
