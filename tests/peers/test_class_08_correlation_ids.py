"""Class 8. Correlation ids: 0 first, negative, wrapping, reused in flight, jumping to another range and back (SASL
re-authentication uses 0x7FFFFFF8-0x7FFFFFFF); port pairs reused with the same ids.
"""

import pytest


@pytest.mark.parametrize(
    "ids",
    [(0, 1, 2), (-5, -4, -3), (2**31 - 2, 2**31 - 1, -(2**31), -(2**31) + 1), (7, 8, 0x7FFFFFF8, 0x7FFFFFF9, 9, 10)],
    ids=["0 first", "negative", "wrapping", "re-authentication"],
)
def test_ids(w, read, ids):
    c = w.Conversation()
    for i in ids:
        c.from_client(w.metadata(i)).from_server(w.metadata_answer(i))
    assert read(c).requests == dict.fromkeys(ids, "ok")


def test_one_id_twice_in_flight(w, read):
    c = (
        w.Conversation()
        .from_client(w.metadata(5), w.metadata(5))
        .from_server(w.metadata_answer(5))
        .from_server(w.metadata_answer(5))
    )
    rows = read(c).table("requests")
    assert sorted(row["response_packet_no"] for row in rows) == [5, 6]
    assert [row["status"] for row in rows] == ["ok", "ok"]


def test_a_port_pair_used_again(w, read):
    first = w.Conversation().from_client(w.metadata(1)).from_server(w.metadata_answer(1)).from_client(w.metadata(2))
    second = w.Conversation(now=first.now + 10**12, first_seq=3_000_000_000)
    second.from_client(w.metadata(1)).from_server(w.metadata_answer(1)).from_client(w.metadata(2)).from_server(
        w.metadata_answer(2)
    )
    found = read(first, second)
    assert found.protocols == ["kafka", "kafka"]
    assert sorted(row["status"] for row in found.table("requests")) == ["ok", "ok", "ok", "unanswered"]
