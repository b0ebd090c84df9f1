"""Class 3. Strings, arrays and bytes with negative or huge lengths; compact strings past the end; null client id;
invalid UTF-8; a 32 kB client id.
"""

import struct

import pytest


@pytest.mark.parametrize(
    ("key", "version", "flexible", "body"),
    [
        (3, 1, False, struct.pack(">ih", 1, -2)),
        (3, 1, False, struct.pack(">ih", 1, 32767)),
        (3, 1, False, struct.pack(">i", 2**31 - 1)),
        (36, 0, False, struct.pack(">i", -2)),
        (36, 0, False, struct.pack(">i", 2**31 - 1)),
        (3, 9, True, b"\x02\x7fabc\0\x01\x01\x01\0"),
    ],
    ids=["string -2", "string 32767", "array 2^31-1", "bytes -2", "bytes 2^31-1", "compact string"],
)
def test_lengths_beyond_the_frame(w, read, key, version, flexible, body):
    hostile = w.request(key, version, 2, body, flexible=flexible)
    found = read(w.Conversation().from_client(w.metadata(1)).from_client(hostile).from_client(w.metadata(3)))
    assert found.requests == {1: "unanswered", 2: "undecoded", 3: "unanswered"}


@pytest.mark.parametrize("client_id", [None, b"\xc3\x28\xff", b"k" * 32767])
def test_client_ids(w, read, client_id):
    c = w.Conversation().from_client(w.metadata(1, client_id=client_id)).from_server(w.metadata_answer(1))
    c.from_client(w.metadata(2, client_id=client_id))
    found = read(c)
    assert found.protocols == ["kafka"]
    text = None if client_id is None else client_id.decode("utf-8", "replace")
    assert [row["client_id"] for row in found.table("requests")] == [text] * 2
