"""Class 17. Metadata that advertises localhost, 0.0.0.0, an empty host, an IPv6 literal, port 0 or -1, the same node
id twice.
"""

HOSTS = [b"localhost", b"0.0.0.0", b"", b"2001:db8::1", b"zero", b"minus", b"twice"]


def test_advertised_as_told(w, read):
    ports = [9092, 9092, 9092, 9092, 0, -1, 9092]
    brokers = [(n, host, port) for n, (host, port) in enumerate(zip(HOSTS, ports, strict=True))]
    brokers.append((6, b"twice-other", 9093))
    found = read(w.Conversation().from_client(w.metadata(1)).from_server(w.metadata_answer(1, brokers=brokers)))
    assert found.requests == {1: "ok"}
    result = {(row["node_id"], row["host"], row["port"]) for row in found.table("topology") if row["kind"] == "broker"}
    assert result == {(n, host.decode(), port) for n, host, port in brokers}
