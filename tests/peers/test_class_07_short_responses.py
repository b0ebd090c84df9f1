"""Class 7. Responses under 12 bytes; error-only responses."""

import struct


def test_answers_of_a_few_bytes(w, read):
    c = w.Conversation().from_client(w.metadata(1)).from_server(w.metadata_answer(1))
    for i, version in ((2, 0), (3, 0)):
        c.from_client(w.request(12, version, i, w.string(b"g") + struct.pack(">i", 1) + w.string(b"m")))
        c.from_server(w.response(i, struct.pack(">h", 25 if i == 3 else 0)))
    found = read(c)
    assert found.requests == {1: "ok", 2: "ok", 3: "ok"}
    assert [row["error_name"] for row in found.table("errors")] == ["UNKNOWN_MEMBER_ID"]


def test_answers_without_a_body(w, read):
    c = (
        w.Conversation()
        .from_client(w.metadata(1))
        .from_server(w.response(1))
        .from_client(w.metadata(2))
        .from_server(w.metadata_answer(2))
    )
    assert read(c).requests == {1: "undecoded", 2: "ok"}
