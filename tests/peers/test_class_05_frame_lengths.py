"""Class 5. Frame length 0, 4, 7, -1, 2^31-1, `0x16030101` (TLS), `GET ` (HTTP): never allocate from it."""

import struct
import tracemalloc

import pytest

LENGTHS = [0, 4, 7, -1, 2**31 - 1, 0x16030101, 0x47455420]


@pytest.mark.parametrize("length", LENGTHS)
def test_in_the_middle_of_requests(w, read, length):
    c = w.Conversation().from_client(w.metadata(1)).from_client(struct.pack(">i", length) + bytes(60))
    c.from_client(w.metadata(2)).from_client(w.metadata(3))
    tracemalloc.start()
    found = read(c)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.requests == {1: "unanswered", 2: "unanswered", 3: "unanswered"}
    assert peak < 200 << 20


@pytest.mark.parametrize("length", LENGTHS)
def test_in_the_middle_of_responses(w, read, length):
    c = w.Conversation().from_client(w.metadata(1), w.metadata(2)).from_server(w.metadata_answer(1))
    c.from_server(struct.pack(">i", length) + bytes(60)).from_server(w.metadata_answer(2))
    found = read(c).requests
    assert found.pop(0, "orphan_response") == "orphan_response"
    assert found == {1: "ok", 2: "ok"}


@pytest.mark.parametrize("length", LENGTHS)
def test_as_the_first_bytes(w, read, length):
    found = read(w.Conversation().from_client(struct.pack(">i", length) + bytes(60)))
    assert found.protocols[0] in ("tls", "http", "other")
    assert found.requests == {}
