"""Class 12. SaslHandshake v0 and raw tokens; GSSAPI; re-authentication mid-stream."""

import struct

HANDSHAKE_ANSWER = struct.pack(">hi", 0, 1)


def handshake(w, i, version, mechanism):
    return w.request(17, version, i, w.string(mechanism)), w.response(i, HANDSHAKE_ANSWER + w.string(mechanism))


def test_raw_plain_tokens(w, read):
    asked, result = handshake(w, 1, 0, b"PLAIN")
    c = (
        w.Conversation()
        .from_client(asked)
        .from_server(result)
        .from_client(w.sized(b"\0alice\0secret"))
        .from_server(w.sized(b""))
    )
    found = read(c.from_client(w.metadata(2)).from_server(w.metadata_answer(2)))
    assert found.requests == {1: "ok", 2: "ok"}
    assert set(found.reasons) == {"sasl_token"}
    assert {row["head"] for row in found.table("undecoded") if "head" in row} <= {None}


def test_gssapi_rounds(w, read):
    asked, result = handshake(w, 1, 0, b"GSSAPI")
    c = w.Conversation().from_client(asked).from_server(result)
    for n in range(3):
        c.from_client(w.sized(b"\x60\x82" + bytes([n]) * 700)).from_server(w.sized(b"\x60\x81" + bytes([n]) * 200))
    found = read(c.from_client(w.metadata(2)).from_server(w.metadata_answer(2)))
    assert found.requests == {1: "ok", 2: "ok"}
    assert found.reasons == {"sasl_token": 3 * (706 + 206)}


def test_re_authentication(w, read):
    c = w.Conversation().from_client(w.metadata(1)).from_server(w.metadata_answer(1))
    asked, result = handshake(w, 0x7FFFFFF8, 1, b"PLAIN")
    token = w.request(36, 1, 0x7FFFFFF9, w.sized(b"\0alice\0secret"))
    c.from_client(asked).from_server(result).from_client(token).from_server(
        w.response(0x7FFFFFF9, struct.pack(">hhiq", 0, -1, 0, 60000))
    )
    found = read(c.from_client(w.metadata(2)).from_server(w.metadata_answer(2)))
    assert set(found.requests.values()) == {"ok"}
    assert len(found.requests) == 4
