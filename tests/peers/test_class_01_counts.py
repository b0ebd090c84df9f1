"""Class 1. Counts: varints of 2^31-1, 2^32-1, 2^64-1, of more than 10 bytes; more elements than bytes left; endless
zero-size tagged fields.
"""

import pytest

API_VERSIONS_V3 = b"\x05java\x062.2.0"


@pytest.mark.parametrize(
    "count",
    [b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\xff" * 12, b"\x80" * 11, b"\x7f"],
    ids=["2^31-1", "2^32-1", "2^64-1", "12 bytes", "11 bytes of 0", "more than is left"],
)
def test_a_count_beyond_the_frame_is_a_malformed_body(w, read, count):
    hostile = w.request(3, 9, 2, count + b"\x01\x01\x01\0", flexible=True)
    c = (
        w.Conversation()
        .from_client(w.metadata(1, b"t"))
        .from_server(w.metadata_answer(1))
        .from_client(hostile)
        .from_client(w.metadata(3))
    )
    found = read(c)
    assert found.requests == {1: "ok", 2: "undecoded", 3: "unanswered"}
    assert found.reasons == {"malformed_body": len(hostile)}


def test_endless_empty_tags_end_with_the_frame(w, read):
    many = b"".join(w.varint(n) + b"\0" for n in range(1, 3000))
    whole = w.request(18, 3, 2, API_VERSIONS_V3 + w.varint(2999) + many, flexible=True)
    endless = w.request(18, 3, 3, API_VERSIONS_V3 + b"\xff\xff\xff\xff\x0f" + many, flexible=True)
    found = read(w.Conversation().from_client(w.metadata(1), whole, endless, w.metadata(4)))
    assert found.requests == {1: "unanswered", 2: "unanswered", 3: "undecoded", 4: "unanswered"}
