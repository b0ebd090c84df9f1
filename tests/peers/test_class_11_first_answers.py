"""Class 11. ApiVersions answered with error 35 in v0 layout; ControlledShutdown v0 without client id."""

import struct


def test_api_versions_refused_in_v0(w, read):
    asked = w.request(18, 4, 1, b"\x05java\x064.0.0\0", flexible=True)
    refused = w.response(1, struct.pack(">hi", 35, 1) + struct.pack(">hhh", 18, 0, 3))
    found = read(w.Conversation().from_client(asked).from_server(refused))
    assert found.requests == {1: "ok"}
    assert [row["error_name"] for row in found.table("errors")] == ["UNSUPPORTED_VERSION"]


def test_api_versions_of_a_version_nobody_knows(w, read):
    asked = w.request(18, 12, 1, b"\x05java\x069.0.0\0", flexible=True)
    refused = w.response(1, struct.pack(">hi", 35, 1) + struct.pack(">hhh", 18, 0, 4))
    found = read(
        w.Conversation()
        .from_client(asked)
        .from_server(refused)
        .from_client(w.metadata(2))
        .from_server(w.metadata_answer(2))
    )
    assert found.requests == {1: "undecoded", 2: "ok"}
    assert found.protocols == ["kafka"]


def test_controlled_shutdown_v0(w, read):
    asked = w.sized(struct.pack(">hhii", 7, 0, 9, 2))
    c = w.Conversation().from_client(w.metadata(8)).from_server(w.metadata_answer(8))
    found = read(c.from_client(asked).from_server(w.response(9, struct.pack(">hi", 0, 0))))
    assert found.requests == {8: "ok", 9: "ok"}
