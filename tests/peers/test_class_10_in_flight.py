"""Class 10. Thousands of requests in flight; requests never answered: flat memory."""


def test_thousands_in_flight(w, read):
    n = 6000
    c = (
        w.Conversation()
        .from_client(*(w.metadata(i) for i in range(n)))
        .from_server(*(w.metadata_answer(i) for i in range(n)))
    )
    found = read(c)
    rows = found.table("requests")
    assert len(rows) == n
    assert {row["status"] for row in rows} == {"ok"}
    assert found.table("connections")[0]["max_in_flight"] == n


def test_never_answered(w, read):
    n = 20_000
    found = read(w.Conversation().from_client(*(w.metadata(i) for i in range(n))))
    assert {row["status"] for row in found.table("requests")} == {"unanswered"}
