"""Class 9. acks=0 and acks=1 in every Produce version, transactional id null, empty, set."""

import pytest


@pytest.mark.parametrize("transactional_id", [None, b"", b"txn"], ids=["null", "empty", "set"])
def test_every_version(w, read, transactional_id):
    versions = range(14)
    c = w.Conversation().from_client(w.metadata(1)).from_server(w.metadata_answer(1))
    for v in versions:
        c.from_client(w.produce(100 + v, v, 0, transactional_id=transactional_id))
        c.from_client(w.produce(200 + v, v, 1, transactional_id=transactional_id))
    found = read(c).requests
    assert {v: found[100 + v] for v in versions} == dict.fromkeys(versions, "no_response_expected")
    assert {v: found[200 + v] for v in versions} == dict.fromkeys(versions, "unanswered")
