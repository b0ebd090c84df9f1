"""Class 13. API keys above the newest, above 10000, negative; versions above the newest."""

import pytest


@pytest.mark.parametrize(("key", "version"), [(200, 0), (10_001, 3), (-3, 0), (0, 99), (3, 32767), (1, -1)])
def test_kept_whole_with_their_response(w, read, key, version):
    odd = w.request(key, version, 2, b"what it means nobody knows")
    c = (
        w.Conversation()
        .from_client(w.metadata(1))
        .from_server(w.metadata_answer(1))
        .from_client(odd)
        .from_server(w.response(2, bytes(30)))
    )
    found = read(c.from_client(w.metadata(3)).from_server(w.metadata_answer(3)))
    assert found.requests == {1: "ok", 2: "undecoded", 3: "ok"}
    row = next(row for row in found.table("requests") if row["correlation_id"] == 2)
    assert (row["api_key"], row["api_version"], row["response_bytes"]) == (key, version, 38)
    assert found.reasons == {"unknown_version" if 0 <= key < 95 else "unknown_api": len(odd) + 38}
