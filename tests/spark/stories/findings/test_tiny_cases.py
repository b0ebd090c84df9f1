"""Each rule on rows made by hand: what it must find, and the nearest thing in which it must find nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark.stories.findings.reported_cases import REPORTED_CASES, REPORTED_SENTENCES, partitions_of

pytestmark = pytest.mark.spark

S, MS = 1_000_000_000, 1_000_000
ONE = {"client_instance_id": "ci-1", "client_id": "app"}
TWO = {"client_instance_id": "ci-2", "client_id": "other", "conn_ids": ["c2"]}
LOST = {"recovery_id": "r1", "first_error_name": "CONNECTION_CLOSED", "start_ns": 10 * S, "recovered_ns": 14 * S}
SILENT = {**LOST, "first_error_name": "REQUEST_UNANSWERED", "failing_ns": 9 * S, "evidence": ["c1-5"]}
SILENT = {**SILENT, "error_names": ["REQUEST_UNANSWERED"]}
METADATA = {"request_id": "c1-0", "conn_id": "c1", "ts_ns": 2 * S}


def advertised(*brokers: tuple[str, int]) -> dict[str, Any]:
    listed = [{"node_id": i, "host": host, "port": port} for i, (host, port) in enumerate(brokers)]
    known = [{"kind": "broker", "node_id": i, "host": host, "port": port} for i, (host, port) in enumerate(brokers)]
    return {"messages/Metadata/response": [{**METADATA, "brokers": listed}], "topology": known}


def fetches(codec: str, *offsets: int) -> dict[str, Any]:
    """A consumer that gets batches at these offsets, one every half second."""
    answer = {"conn_id": "c1", "api_key": 1, "direction": "response", "topic": "t", "partition": 0, "n_batches": 1}
    rows = [
        {**answer, "request_id": f"c1-{i}", "ts_ns": 2 * S + i * 500 * MS, "first_offset": offset, "codec": codec}
        for i, offset in enumerate(offsets)
    ]
    client = {**ONE, "software_name": "librdkafka", "software_version": "1.9.2"}
    return {"clients": [client], "connections": [{"conn_id": "c1"}], "partitions": rows}


def same_offset(n: int, every_s: float, *then: int, stable: int | None = None, **answer: Any) -> dict[str, Any]:
    """A consumer that asks for offset 7 of a log that goes on to 20, and then for others."""
    place = {"conn_id": "c1", "api_key": 1, "topic": "t", "partition": 0}
    rows = []
    for i, offset in enumerate([7] * n + list(then)):
        same = {**place, "request_id": f"c1-{i}", "ts_ns": int((2 + i * every_s) * S)}
        rows.append({**same, "direction": "request", "partition_offset": offset})
        high = {"high_watermark": 21, "last_stable_offset": stable, "error_code": 0, "n_batches": 0}
        rows.append({**same, **high, "direction": "response", **answer})
    return {"clients": [ONE], "connections": [{"conn_id": "c1"}], "partitions": rows}


def goes_back(group: str, *offsets: int, every_s: int = 3, restarts: bool = False) -> dict[str, Any]:
    """A member of a group that fetches these offsets of a topic-partition, then its log up to offset 90, and so on.
    restarts: each time a new process does so, which begins at the committed offset."""
    clients, connections, rows = [], [], []
    for i, offset in enumerate(offsets):
        number = 20 + i if restarts else 1
        conn_id, at = f"c{number}", (2 + i * every_s) * S
        if restarts or not i:
            clients.append({**ONE, "client_instance_id": f"ci-{number}", "group_id": group, "conn_ids": [conn_id]})
            connections.append({"conn_id": conn_id})
        place = {"conn_id": conn_id, "topic": group, "partition": 0}
        looked_up = {**place, "api_key": 9, "direction": "response", "error_code": 0, "partition_offset": offset}
        if restarts:
            rows.append({**looked_up, "request_id": f"{conn_id}-{10 * i}", "ts_ns": at - MS})
        for k, asked in enumerate((offset, 90)):
            own = {"request_id": f"{conn_id}-{10 * i + k + 1}", "ts_ns": at + k * MS, "partition_offset": asked}
            rows.append({**place, **own, "api_key": 1, "direction": "request"})
    flow = {"topic": group, "partition": 0, "group_id": group, "ts_ns": 2 * S, "slice_ms": 1_000, "n_records": 0}
    own = {"partition_flow": [{**flow, "n_fetched_again": 9}]}
    return {"clients": clients, "connections": connections, "partitions": rows, **own}


def replaces(n: int, *, every_s: int = 8, used_again_s: int = 0, close_kind: str = "open") -> dict[str, Any]:
    """A client that opens another connection to the same server for each request, in a capture with a FIN.
    used_again_s: the last one is used again after so long."""
    connections, requests = [], []
    for i in range(n):
        conn_id, at = f"c{40 + i}", (2 + i * every_s) * S
        times = [at] + ([at + used_again_s * S] if used_again_s and i == n - 1 else [])
        requests += [{"request_id": f"{conn_id}-{k}", "conn_id": conn_id, "ts_ns": ns} for k, ns in enumerate(times)]
        own = {"first_ns": at, "last_ns": times[-1], "close_kind": close_kind}
        connections.append({**own, "conn_id": conn_id, "n_requests": len(times), "n_responses": len(times)})
    clients = [{**ONE, "conn_ids": [row["conn_id"] for row in connections]}]
    connections.append({"conn_id": "c39", "server_ip": "10.0.0.2", "close_kind": "fin_client"})
    return {"clients": clients, "connections": connections, "requests": requests}


def asks(n: int, every_s: float, api: str = "Metadata") -> list[dict[str, Any]]:
    return [
        {"request_id": f"c1-{i}", "conn_id": "c1", "ts_ns": int((2 + i * every_s) * S), "api_name": api}
        for i in range(n)
    ]


def looks_up(api: str, *, kind: str, worked: bool = False, every_s: float = 1, n: int = 12) -> dict[str, Any]:
    """A client that repeats a look-up. worked: it had fetched records before. FindCoordinator returns a node to which
    it cannot connect."""
    own = {"conn_id": "c1", "api_name": api}
    requests = [{**own, "request_id": f"c1-{i + 1}", "ts_ns": int((3 + i * every_s) * S)} for i in range(n)]
    if worked:
        requests.append({**own, "request_id": "c1-0", "ts_ns": 2 * S, "api_name": "Fetch", "api_key": 1})
    connections: list[dict[str, Any]] = [{"conn_id": "c1"}]
    topology = []
    if api == "FindCoordinator":
        at = {"host": "10.0.0.6", "port": 9092, "node_id": 6, "coordinator_key": "g"}
        topology.append({**at, "kind": "coordinator", "conn_id": "c1", "request_id": "c1-1", "ts_ns": 4 * S})
        none = {"close_kind": "unanswered", "synack_ns": None, "server_bytes": 0, "client_bytes": 0, "n_requests": 0}
        connections.append({**none, "conn_id": "c9", "server_ip": "10.0.0.6", "node_id": 6, "first_ns": 5 * S})
    client = {**ONE, "kind": kind}
    return {"clients": [client], "connections": connections, "requests": requests, "topology": topology}


def stops(*, error: int = 0, sent_again_s: int | None = None, alive_s: int = 40, tries: bool = False) -> dict[str, Any]:
    """A producer whose Produce at 5 s fails, and whose connection ends at 8 s; it asks for Metadata elsewhere each
    second until alive_s. error: error code of the response; without one there is no response. sent_again_s: when it
    sends a later batch."""
    own = {"conn_id": "c1", "api_name": "Produce", "api_key": 0}
    place = {"conn_id": "c1", "api_key": 0, "topic": "stops", "partition": 0}
    failed = {"status": "ok", "n_errors": 1, "error_code": error, "response_ns": 6 * S} if error else {}
    requests = [{**own, "request_id": "c1-1", "ts_ns": 5 * S, "status": "unanswered", **failed}]
    rows = [{**place, "request_id": "c1-1", "ts_ns": 5 * S, "direction": "request", "n_records": 3}]
    if error:
        named = {"error_code": error, "error_name": "NOT_ENOUGH_REPLICAS"}
        rows.append({**place, **named, "request_id": "c1-1", "ts_ns": 6 * S, "direction": "response"})
    if sent_again_s is not None:
        requests.append({**own, "request_id": "c1-2", "ts_ns": sent_again_s * S})
        rows.append({**place, "request_id": "c1-2", "ts_ns": sent_again_s * S, "direction": "request", "n_records": 3})
    asked = {"conn_id": "c2", "api_name": "Metadata"}
    requests += [{**asked, "request_id": f"c2-{i}", "ts_ns": i * S} for i in range(2, alive_s + 1, 7)]
    ended = {"conn_id": "c1", "close_kind": "rst_client", "close_ns": 8 * S}
    connections = [ended, {"conn_id": "c2", "server_ip": "10.0.0.2", "node_id": 2, "last_ns": alive_s * S}]
    if tries:
        none = {"close_kind": "refused", "synack_ns": None, "client_bytes": 0, "server_bytes": 0, "n_requests": 0}
        connections.append({**none, "conn_id": "c3", "first_ns": 20 * S})
    client = {**ONE, "kind": "producer", "conn_ids": ["c1", "c2"], "last_ns": alive_s * S}
    return {"clients": [client], "connections": connections, "requests": requests, "partitions": rows}


def latest(offset: int, *, timestamp: int = -1, then: int = 41) -> dict[str, Any]:
    """A consumer that looks up an end of a log, which a Fetch response reported as 40 before. offset: the one that
    ListOffsets returns; then: the end of the log in the next Fetch response."""
    topic = f"ends-{then}"
    place = {"topic": topic, "partition": 0, "error_code": 0, "direction": "response"}
    asked = [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": timestamp}]}]
    times = {"c2-1": 2, "c1-1": 5, "c1-2": 6}
    apis = {"c2-1": ("Fetch", 1), "c1-1": ("ListOffsets", 2), "c1-2": ("Fetch", 1)}
    found: dict[str, dict[str, Any]] = {
        "c2-1": {"high_watermark": 40, "n_records": 1},
        "c1-1": {"partition_offset": offset},
        "c1-2": {"high_watermark": then, "n_records": 1},
    }
    rows, requests = [], []
    for request_id, at in times.items():
        own = {"request_id": request_id, "conn_id": request_id[:2], "ts_ns": at * S}
        name, key = apis[request_id]
        requests.append({**own, "api_name": name, "api_key": key, "response_ns": at * S + MS})
        rows.append({**own, **place, "api_key": key, **found[request_id]})
        rows.append({**own, **place, "api_key": key, "direction": "request", "error_code": None})
    messages = [{"request_id": "c1-1", "conn_id": "c1", "ts_ns": 5 * S, "topics": asked}]
    return {
        "clients": [ONE, TWO],
        "connections": [{"conn_id": "c1"}, {"conn_id": "c2"}],
        "requests": requests,
        "partitions": rows,
        "messages/ListOffsets/request": messages,
    }


def fetches_nothing(group: str, *, last_s: int = 60, conn_id: str | None = None) -> dict[str, Any]:
    """A member of a group that has a partition, to which records are written, and that fetches nothing. last_s: when
    its last segment was seen; conn_id: a connection of its host, on which the partition is fetched once."""
    rows = partitions_of(group, 3)
    heartbeat = {"conn_id": "c1", "request_id": "c1-9", "ts_ns": 9 * S, "api_key": 12, "api_name": "Heartbeat"}
    rows["requests"] = [heartbeat]
    if conn_id is not None:
        fetch = {"conn_id": conn_id, "request_id": f"{conn_id}-1", "ts_ns": 6 * S, "api_key": 1}
        rows["requests"] = [heartbeat, {**fetch, "api_name": "Fetch"}]
        rows["partitions"] = [*rows["partitions"], {**fetch, "topic": group, "partition": 2, "direction": "request"}]
    rows["connections"] = [{"conn_id": "c1"}, {"conn_id": "c3"}]
    rows["clients"] = [{**row, "last_ns": last_s * S} for row in rows["clients"]]
    return rows


def half_closed(
    n: int, *, client_fin: bool = False, repeated_ms: int = 0, host: int = 9, idle_ms: int = 60_000, again: bool = False
) -> dict[str, Any]:
    """A client with n connections that the server ends at 10 s, in a capture that goes on. repeated_ms: how long the
    server repeats its FIN; host: last byte of the client's address; idle_ms: time since the last request; again: it
    connects once more."""
    names = [f"c{50 + i}" for i in range(n)]
    own = {"close_kind": "fin_server", "close_ns": 10 * S, "last_ns": 10 * S + MS + repeated_ms * MS}
    own |= {"client_ip": f"10.0.0.{host}", "idle_before_close_ms": idle_ms, "n_requests": 50}
    later = [{"conn_id": "c49", "client_ip": f"10.0.0.{host}", "first_ns": 12 * S}] if again else []
    sides = ("server", "client") if client_fin else ("server",)
    events = [
        {"conn_id": name, "side": side, "event": "fin", "ts_ns": 10 * S + k}
        for name in names
        for k, side in enumerate(sides)
    ]
    return {
        "clients": [{**ONE, "kind": "producer", "conn_ids": names}],
        "connections": [{**own, "conn_id": name} for name in names] + later,
        "tcp_events": events,
        "captures": [{}],
    }


def renumbered(*ids: tuple[str, int, int], error: bool = False) -> dict[str, Any]:
    """Metadata responses, each with a broker: host, node id, time."""
    messages = [
        {
            **METADATA,
            "request_id": f"c1-{at}",
            "ts_ns": at * S,
            "brokers": [{"node_id": node_id, "host": host, "port": 9092}],
        }
        for host, node_id, at in ids
    ]
    known = [{"kind": "broker", "node_id": node_id, "host": host, "port": 9092} for host, node_id, _ in ids]
    errors = [{"request_id": "c1-40", "conn_id": "c1", "ts_ns": 40 * S, "error_name": "LEADER_NOT_AVAILABLE"}]
    rows = {"messages/Metadata/response": messages, "topology": known, "connections": [{"conn_id": "c1"}]}
    return {**rows, "clients": [ONE], "errors": [{**errors[0], "topic": "gone"}] if error else []}


def refreshes(n: int, every_ms: int, *, works: bool = True, **more: Any) -> dict[str, Any]:
    """A producer that asks for Metadata so often, and sends records too, or nothing else."""
    asked = [{"request_id": f"c1-{i}", "conn_id": "c1", "ts_ns": 2 * S + i * every_ms * MS, **more} for i in range(n)]
    sent = {
        "request_id": "c1-9000",
        "conn_id": "c1",
        "ts_ns": 2 * S + n * every_ms * MS,
        "api_key": 0,
        "api_name": "Produce",
        "n_records": 1,
    }
    client = {**ONE, "kind": "producer"}
    return {"clients": [client], "connections": [{"conn_id": "c1"}], "requests": asked + ([sent] if works else [])}


def sent_again(*, after_later: bool, producer_id: int | None = None) -> dict[str, Any]:
    """A producer that sends two batches, of which the first is refused and sent again. after_later: the second was
    accepted meanwhile; if not, it is sent after the first was accepted."""
    second_at, offset, base = (2, 10, 11) if after_later else (8, 11, 10)
    sent = [("c1-1", 1, 100, None), ("c1-2", second_at, 200, offset), ("c1-3", 5, 100, base)]
    place = {"conn_id": "c1", "api_key": 0, "topic": "again", "partition": 0}
    rows, requests = [], []
    for request_id, at, created, accepted in sent:
        own = {"request_id": request_id, "ts_ns": at * S}
        times = {"first_timestamp_ms": created, "max_timestamp_ms": created, "n_records": 1, "producer_id": producer_id}
        answer: dict[str, Any] = {"error_code": 0, "partition_offset": accepted}
        if accepted is None:
            answer = {"error_code": 6, "error_name": "NOT_LEADER_OR_FOLLOWER", "partition_offset": -1}
        rows += [{**place, **own, **times, "direction": "request"}, {**place, **own, **answer, "direction": "response"}]
        asked = {"conn_id": "c1", "api_name": "Produce", "api_key": 0, "response_ns": at * S + MS}
        requests.append({**own, **asked, "n_errors": int(accepted is None), "error_code": answer["error_code"]})
    refused = {"request_id": "c1-1", "conn_id": "c1", "ts_ns": S, "api_key": 0, "error_code": 6}
    refused |= {"error_name": "NOT_LEADER_OR_FOLLOWER", "topic": "again", "partition": 0}
    client = {**ONE, "kind": "producer"}
    tables = {"clients": [client], "connections": [{"conn_id": "c1"}], "requests": requests}
    return {**tables, "partitions": rows, "errors": [refused]}


def answered(packet_no: int, *, late: bool = False) -> dict[str, Any]:
    """What a request's row has of its response; late: that to a later request came first."""
    return {"response_packet_no": packet_no, "response_ns": 20 * S + packet_no, "out_of_order": late, "capture_id": 0}


def behind_polls(n: int, *, queued_ms: int, own_ms: int = 1, polls_on: str = "c1") -> dict[str, Any]:
    """A consumer that sends a commit behind each Fetch, which waits for records for up to 500 ms. polls_on: the
    connection of the Fetch requests."""
    rows = []
    for i in range(n):
        begin, fetched = (i + 1) * 10 * S, (i + 1) * 10 * S + (queued_ms + 5) * MS
        poll = {"api_name": "Fetch", "ts_ns": begin, "response_ns": fetched, "latency_us": (queued_ms + 5) * 1_000}
        poll |= {"max_wait_ms": 500, "queued_us": 0, "broker_us": (queued_ms + 5) * 1_000}
        commit = {"api_name": "OffsetCommit", "ts_ns": begin + 5 * MS, "response_ns": fetched + own_ms * MS}
        commit |= {"queued_us": queued_ms * 1_000, "broker_us": own_ms * 1_000}
        commit |= {"latency_us": (queued_ms + own_ms) * 1_000}
        for k, row in enumerate((poll, commit)):
            packets = {"request_packet_no": 10 * i + k + 1, "response_packet_no": 10 * i + k + 3}
            conn_id = "c1" if row is commit else polls_on
            rows.append({**row, **packets, "request_id": f"{conn_id}-{2 * i + k}", "conn_id": conn_id})
    connections = [{"conn_id": conn_id} for conn_id in sorted({"c1", polls_on})]
    return {"clients": [{**ONE, "kind": "consumer"}], "connections": connections, "requests": rows}


def behind_one_poll(n: int, *, sent_ms: int = 10) -> dict[str, Any]:
    """A consumer that sends heartbeats while one Fetch waits for records for 500 ms, or after that (sent_ms): all are
    answered one after the other."""
    poll = {"api_name": "Fetch", "request_id": "c1-0", "ts_ns": S, "response_ns": S + 500 * MS, "latency_us": 500_000}
    rows = [{**poll, "max_wait_ms": 500, "queued_us": 0, "broker_us": 500_000}]
    for i in range(1, n + 1):
        sent, answered = S + (sent_ms + i) * MS, S + (max(500, sent_ms + 300) + i) * MS
        queued_us = (answered - sent) // 1_000 - 1_000
        beat = {"api_name": "Heartbeat", "request_id": f"c1-{i}", "ts_ns": sent, "response_ns": answered}
        rows.append({**beat, "queued_us": queued_us, "broker_us": 1_000, "latency_us": queued_us + 1_000})
    packets = ({"request_packet_no": i + 1, "response_packet_no": i + 100, "conn_id": "c1"} for i in range(n + 1))
    requests = [row | more for row, more in zip(rows, packets, strict=True)]
    return {"clients": [{**ONE, "kind": "consumer"}], "connections": [{"conn_id": "c1"}], "requests": requests}


def cut_off(n: int, *, close_kind: str = "rst_client", took_ms: int = 1, ok: int = 0) -> dict[str, Any]:
    """A consumer whose connections end in the middle of the response to their only Fetch, as where it has more than
    receive.message.max.bytes (https://github.com/confluentinc/librdkafka/issues/4915), or takes longer than
    socket.timeout.ms (https://github.com/confluentinc/librdkafka/issues/1579). took_ms: after its first byte;
    ok: so many others of its requests get a whole response."""
    names = [f"c{i}" for i in range(1, n + 1)]
    begins = [i * 3 * S for i in range(1, n + 1)]
    connections, requests, undecoded = [], [], []
    for conn_id, begin in zip(names, begins, strict=True):
        ends = {"close_kind": close_kind, "close_ns": begin + (took_ms + 4) * MS}
        connections.append({"conn_id": conn_id, **ends})
        fetch = {"api_name": "Fetch", "request_id": f"{conn_id}-1", "conn_id": conn_id, "ts_ns": begin}
        requests.append({**fetch, "response_ns": begin + 4 * MS, "status": "undecoded", "response_bytes": 4_020_574})
        cut = {"conn_id": conn_id, "ts_ns": begin + 4 * MS, "packet_no": 9, "direction": "response", "bytes": 14_600}
        undecoded.append({**cut, "reason": "connection_end"})
    whole = {"api_name": "Fetch", "conn_id": "c1", "status": "ok", "response_ns": 5 * S}
    requests += [{**whole, "request_id": f"c1-{i + 2}", "ts_ns": 4 * S} for i in range(ok)]
    who = {**ONE, "kind": "consumer", "conn_ids": names}
    return {"clients": [who], "connections": connections, "requests": requests, "undecoded": undecoded}


def held_for_ever(n: int, *, close_ms: int = 5_000, asked_else: bool = True) -> dict[str, Any]:
    """A consumer whose Fetch is not answered on any of its connections, and ListOffsets before it is
    (https://github.com/nisshi-io/nisshi/issues/668). close_ms: when it closes the connection, after the Fetch."""
    names = [f"c{i}" for i in range(1, n + 1)]
    connections, requests = [], []
    for i, conn_id in enumerate(names):
        begin = (i + 1) * 6 * S
        connections.append({"conn_id": conn_id, "close_kind": "fin_client", "close_ns": begin + close_ms * MS})
        fetch = {"api_name": "Fetch", "request_id": f"{conn_id}-2", "conn_id": conn_id, "ts_ns": begin}
        requests.append({**fetch, "status": "unanswered", "max_wait_ms": 500, "response_ns": None})
        other = {"api_name": "ListOffsets", "request_id": f"{conn_id}-1", "conn_id": conn_id, "status": "ok"}
        if asked_else:
            requests.append({**other, "ts_ns": begin - 9 * MS, "response_ns": begin - 8 * MS})
    return {
        "clients": [{**ONE, "kind": "consumer", "conn_ids": names}],
        "connections": connections,
        "requests": requests,
    }


def accepted(*batches: tuple[int, int, int], **changes: Any) -> dict[str, Any]:
    """Batches of two records that brokers accepted: the node, the offset that it gave, and when the first record was
    created; one every second. Node 1 ends meanwhile. changes: of the responses' rows of `partitions`."""
    requests, partitions = [], []
    for i, (node_id, offset, created_ms) in enumerate(batches):
        begin, request_id = (i + 1) * S, f"c1-{i}"
        produce = {"api_name": "Produce", "api_key": 0, "request_id": request_id, "conn_id": "c1", "acks": 1}
        requests.append({**produce, "ts_ns": begin, "response_ns": begin + MS, "status": "ok", "node_id": node_id})
        place = {
            "request_id": request_id,
            "conn_id": "c1",
            "ts_ns": begin,
            "api_key": 0,
            "topic": "pay",
            "partition": 0,
        }
        partitions.append({**place, "direction": "request", "n_records": 2, "first_timestamp_ms": created_ms})
        given = {"direction": "response", "partition_offset": offset, "error_code": 0}
        partitions.append({**place, **given, **changes})
    who = {"clients": [{**ONE, "kind": "producer"}], "connections": [{"conn_id": "c1"}]}
    incident = {**lost("broker_down")["incidents"][0], "severity": "info", "clients": []}
    return {**who, "requests": requests, "partitions": partitions, "incidents": [incident]}


def broken(**changes: Any) -> dict[str, Any]:
    episode = {**LOST, "error_names": ["CONNECTION_CLOSED"], "evidence": ["c1-3", "c2"], **changes}
    return {"clients": [{**ONE}], "connections": [{"conn_id": "c1"}], "recoveries": [episode]}


def lookups(n: int, *, storm: bool) -> dict[str, Any]:
    """A client that lost its coordinator, and asked FindCoordinator so many times until another one responded."""
    lost = {"resource_kind": "coordinator", "resource": "tx", "first_error_name": "CONNECTION_CLOSED", "n_errors": 1}
    return broken(**lost, n_wasted_requests=n, storm=storm, recovered_ns=20 * S)


def lost(kind: str, start_s: int = 10, **changes: Any) -> dict[str, Any]:
    """An incident of node 1 that lasted for four seconds, or for forty where a request was sent later."""
    row = {"incident_id": "i1", "kind": kind, "node_id": 1, "subject": "node 1 (10.0.0.1:9092)", "hosts": []}
    row |= {"start_ns": start_s * S, "end_ns": (14 if start_s == 10 else start_s + 40) * S, "clients": ["ci-1"]}
    row |= {"sentence": "Node 1 failed from 00:09.000.", "evidence": ["c1-3", "c2"]}
    row["actions"] = [{"owner": "brokers", "who": None, "text": "Look at its log."}]
    return {"clients": [ONE], "connections": [{"conn_id": "c1"}], "incidents": [{**row, **changes}]}


def silent(idle_s: int, **changes: Any) -> dict[str, Any]:
    """A request at 100 s without an answer, after so much silence."""
    episode = {**SILENT, "failing_ns": 100 * S, "start_ns": 130 * S, "recovered_ns": 131 * S}
    episode |= {"failing_api": "Produce", "idle_ms": idle_s * 1_000, **changes}
    connection = {"conn_id": "c1", "last_ns": 131 * S}
    return {"clients": [ONE], "connections": [connection], "recoveries": [episode]}


def muted() -> dict[str, Any]:
    """The same while the broker mutes the client for a quota (KAFKA-16083)."""
    told = {"request_id": "c1-1", "conn_id": "c1", "api_name": "Produce", "api_key": 0, "ts_ns": 100 * S}
    told |= {
        "server_ip": "10.0.0.1",
        "server_port": 9092,
        "response_ns": 101 * S,
        "throttle_ms": 35_000,
        "client_id": "app",
        "request_bytes": 900,
    }
    return {**silent(idle_s=5), "requests": [told]}


def denied(error: str, **connection: Any) -> dict[str, Any]:
    error_row = {"error_name": error, "request_id": "c1-1", "conn_id": "c1", "ts_ns": 3 * S, "api_name": "Metadata"}
    error_row |= {"client_ip": "10.0.0.9", "client_id": "app", "resource": "orders"}
    return {"clients": [ONE], "connections": [{"conn_id": "c1", **connection}], "errors": [error_row]}


def session_ended(closed_s: int, **connection: Any) -> dict[str, Any]:
    """Authenticated at 2 s for 10 s; closed by the broker."""
    proven = {
        "request_id": "c1-1",
        "conn_id": "c1",
        "api_name": "SaslAuthenticate",
        "ts_ns": 2 * S,
        "response_ns": 2 * S,
    }
    last = {"request_id": "c1-2", "conn_id": "c1", "api_name": "Produce", "ts_ns": closed_s * S, "status": "unanswered"}
    closed = {"conn_id": "c1", "close_kind": "fin_server", "close_ns": closed_s * S, "session_lifetime_ms": 10_000}
    return {"clients": [ONE], "connections": [{**closed, **connection}], "requests": [proven, last]}


def started(total_s: int, **step: Any) -> dict[str, Any]:
    start = {"startup_id": "s1", "client_instance_id": "ci-1", "start_ns": 2 * S, "ready_ns": (2 + total_s) * S}
    start |= {"total_ms": total_s * 1000, "total_us": total_s * S // 1000, "outcome": "ready", "evidence": ["c1-9"]}
    steps = [
        {"startup_id": "s1", "seq": 1, "step": "metadata", "duration_us": total_s * 1_000_000, "wait_us": 0, **step}
    ]
    steps = [{"on_critical_path": True, "conn_id": "c1", "request_ids": ["c1-9"], **row} for row in steps]
    return {"clients": [ONE], "connections": [{"conn_id": "c1"}], "startups": [start], "startup_steps": steps}


UNREACHED = {"conn_id": "c2", "server_ip": "10.0.0.2", "close_kind": "refused", "synack_ns": None, "client_bytes": 0}
UNREACHED = {**UNREACHED, "server_bytes": 0, "protocol": "empty", "first_ns": 3 * S, "last_ns": 4 * S, "node_id": None}
BEHIND = {"node_id": None, "node_id_why": "advertised for nodes 1, 2: more than one broker is behind this address"}
TLS = {"conn_id": "c1", "protocol": "tls", "tls_version": "TLSv1.2", "first_ns": 2 * S, "n_requests": 0}
DAY = 86_400 * S
T0 = 1_800_000_000 * S


def certificate(*, since_days: float = -300, until_days: float) -> dict[str, Any]:
    """A server's certificate that is valid from and to these days around its connection."""
    times = {"first_ns": T0, "last_ns": T0, "tls_server_not_before_ns": T0 + int(since_days * DAY)}
    return {**times, "tls_server_subject": "CN=b", "tls_server_not_after_ns": T0 + int(until_days * DAY)}


NAME = {"name": "kafka-1.lab", "type": "A", "client_ip": "10.0.0.9", "ts_ns": 3 * S}

CASES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "nothing": ({"clients": [ONE], "connections": [{"conn_id": "c1"}]}, set()),
    "acl": (denied("TOPIC_AUTHORIZATION_FAILED"), {"access_denied"}),
    "no acl": (denied("UNKNOWN_TOPIC_OR_PARTITION"), set()),
    "bad password": (lost("client", client_fault="auth_failed"), {"auth_failed"}),
    "unknown authority": (
        {"connections": [{**TLS, "tls_client_alert": "unknown_ca", "tls_failure": "unknown_ca"}]},
        {"tls_failed"},
    ),
    "no certificate": (
        {
            "connections": [
                {**TLS, "tls_server_alert": "certificate_required", "tls_failure": "no_client_certificate"},
            ]
        },
        {"tls_failed"},
    ),
    "certificate expires in three weeks": ({"connections": [{**TLS, **certificate(until_days=20)}]}, {"tls_expiring"}),
    "certificate expires in five weeks": ({"connections": [{**TLS, **certificate(until_days=35)}]}, set()),
    "a day's certificate with half of it left": (
        {"connections": [{**TLS, **certificate(since_days=-0.5, until_days=0.5)}]},
        set(),
    ),
    "a day's certificate with an hour left": (
        {"connections": [{**TLS, **certificate(since_days=-0.96, until_days=0.04)}]},
        {"tls_expiring"},
    ),
    "old TLS": ({"connections": [{**TLS, "tls_version": "TLSv1.1"}]}, {"tls_outdated"}),
    "weak suite": ({"connections": [{**TLS, "tls_suite": "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA"}]}, {"tls_outdated"}),
    "no forward secrecy": (
        {"connections": [{**TLS, "tls_suite": "TLS_RSA_WITH_AES_128_GCM_SHA256"}]},
        {"tls_outdated"},
    ),
    "sound suite": ({"connections": [{**TLS, "tls_suite": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}]}, set()),
    "small key": (
        {"connections": [{**TLS, "tls_server_key_type": "rsa", "tls_server_key_bits": 1024}]},
        {"tls_outdated"},
    ),
    "sound keys": (
        {
            "connections": [
                {**TLS, "tls_server_key_type": "rsa", "tls_server_key_bits": 2048},
                {**TLS, "conn_id": "c2", "tls_server_key_type": "ec", "tls_server_key_bits": 256},
            ]
        },
        set(),
    ),
    "TLS that works": ({"connections": [TLS]}, set()),
    "broker lost": (lost("broker_down"), {"broker_lost"}),
    "broker silent": (lost("broker_silent", end_ns=None), {"broker_lost"}),
    "broker frozen": (lost("broker_frozen", clients=["ci-1", "ci-2"]), {"broker_lost"}),
    "path cut": (lost("path", hosts=["10.0.0.9"]), {"broker_lost"}),
    "replication path failed": (lost("replication", hosts=["10.0.0.8"]), {"broker_lost"}),
    "broker slow": (lost("broker_slow"), set()),
    "leader moved": (lost("leader_move", node_id=None), set()),
    "nobody was there": (lost("listener", node_id=None), set()),
    "lost unnoticed": (lost("broker_down", clients=[]), set()),
    "closed and opened again": (broken(), set()),
    "no answer from a lost broker": ({**silent(idle_s=5), **lost("broker_silent", 99)}, {"broker_lost"}),
    "reset by a lost broker after silence": (
        {**silent(idle_s=90, first_error_name="CONNECTION_RESET"), **lost("broker_down", 99, end_ns=None)},
        {"broker_lost"},
    ),
    "no answer from a lost broker without a node id": (
        {**silent(idle_s=5, old_node_id=None), **lost("path", 99, node_id=None, subject="10.0.0.1:9092")},
        {"broker_lost"},
    ),
    "no answer while another broker was lost": (
        {**silent(idle_s=5), **lost("broker_silent", 99, node_id=2)},
        {"broker_lost", "request_timeout"},
    ),
    "no answer while others lost the broker": (
        {**silent(idle_s=5), **lost("path", 99, clients=["ci-2"])},
        {"broker_lost", "request_timeout"},
    ),
    "no answer after the broker was back": (
        {**silent(idle_s=5), **lost("broker_down", 10)},
        {"broker_lost", "request_timeout"},
    ),
    "asks for work and is refused": (
        {
            "clients": [ONE],
            "connections": [
                {"conn_id": "c1", "roles": ["bootstrap"], "primary_role": "bootstrap", "n_requests": 13, "n_errors": 1}
            ],
            "requests": [*asks(12, every_s=1), {**asks(1, 1, "JoinGroup")[0], "request_id": "c1-99", "ts_ns": 20 * S}],
        },
        set(),
    ),
    "one direction": (
        {**silent(1), "connections": [{"conn_id": "c1", "server_segments": 0, "server_bytes": 0}]},
        {"capture_untrustworthy"},
    ),
    "no answer": (silent(idle_s=5), {"request_timeout"}),
    "no answer while it is muted": (muted(), {"throttled"}),
    "no answer after silence": (silent(idle_s=90), {"idle_reset"}),
    "reset after silence": (silent(idle_s=90, first_error_name="CONNECTION_RESET"), {"idle_reset"}),
    "idle connections are replaced": (replaces(5), {"idle_reset"}),
    "some idle connections are replaced": (replaces(3), set()),
    "one is used again after as long": (replaces(5, used_again_s=9), set()),
    "each is closed": (replaces(5, close_kind="fin_client"), set()),
    "reset while busy": (silent(idle_s=5, first_error_name="CONNECTION_RESET"), set()),
    "storm": (
        broken(resource_kind="partition", resource="t-0", first_error_name="NOT_LEADER_OR_FOLLOWER", storm=True),
        {"leader_storm"},
    ),
    "storm of lookups": (lookups(7_232, storm=True), {"leader_storm"}),
    "some lookups": (lookups(40, storm=False), set()),
    "no storm": (broken(resource_kind="partition", resource="t-0", first_error_name="NOT_LEADER_OR_FOLLOWER"), set()),
    "one address for two": (denied("NOT_LEADER_OR_FOLLOWER", **BEHIND), {"shared_vip"}),
    "an address each": (denied("NOT_LEADER_OR_FOLLOWER"), set()),
    "address of another": (
        {**denied("NOT_LEADER_OR_FOLLOWER", node_id=None, node_id_why="x, but answers for 3"), "clients": [ONE]},
        {"advertised_mismatch"},
    ),
    "address of another that refuses nothing": (
        {"clients": [ONE], "connections": [{"conn_id": "c1", "node_id": None, "node_id_why": "x, but answers for 3"}]},
        set(),
    ),
    "advertised and refused": (
        {
            "clients": [{**ONE, "conn_ids": ["c1", "c2"]}],
            "connections": [{"conn_id": "c1"}, UNREACHED],
            **advertised(("10.0.0.2", 9092)),
        },
        {"advertised_unreachable"},
    ),
    "refused, and there for others": (
        {
            "clients": [{**ONE, "conn_ids": ["c1", "c2"]}],
            "connections": [{"conn_id": "c1"}, UNREACHED, {"conn_id": "c3", "server_ip": "10.0.0.2"}],
            **advertised(("10.0.0.2", 9092)),
        },
        set(),
    ),
    "refused by a name's address": (
        {
            "clients": [{**ONE, "conn_ids": ["c1", "c2"]}],
            "connections": [{"conn_id": "c1"}, UNREACHED],
            "dns": [{**NAME, "rcode": "NOERROR", "addresses": ["10.0.0.2"]}],
            **advertised(("kafka-1.lab", 9092)),
        },
        {"advertised_unreachable"},
    ),
    "advertised localhost": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1"}],
            **advertised(("localhost", 9092)),
        },
        {"advertised_unreachable"},
    ),
    "advertised localhost on localhost": (
        {
            "clients": [{**ONE, "client_ip": "127.0.0.1"}],
            "connections": [{"conn_id": "c1", "client_ip": "127.0.0.1", "server_ip": "127.0.0.1"}],
            **advertised(("localhost", 9092)),
        },
        set(),
    ),
    "private from outside": (
        {
            "clients": [{**ONE, "client_ip": "203.0.113.5"}],
            "connections": [{"conn_id": "c1", "client_ip": "203.0.113.5", "server_ip": "198.51.100.1"}],
            **advertised(("10.0.0.2", 9092)),
        },
        {"advertised_unreachable"},
    ),
    "no such name": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1"}],
            "dns": [{**NAME, "rcode": "NXDOMAIN", "addresses": []}],
            **advertised(("kafka-1.lab", 9092)),
        },
        {"advertised_unreachable"},
    ),
    "no such IPv6 name": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1"}],
            "dns": [
                {**NAME, "rcode": "NXDOMAIN", "addresses": [], "type": "AAAA"},
                {**NAME, "rcode": "NOERROR", "addresses": ["10.0.0.1"]},
            ],
            **advertised(("kafka-1.lab", 9092)),
        },
        set(),
    ),
    "never leaves": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1", "roles": ["bootstrap"], "primary_role": "bootstrap", "n_requests": 12}],
            "requests": asks(12, every_s=1),
        },
        {"bootstrap_only"},
    ),
    "never leaves, one connection after the other": (
        {
            "clients": [{**ONE, "kind": "producer", "conn_ids": [f"c{c}" for c in range(1, 7)]}],
            "connections": [
                {"conn_id": f"c{c}", "roles": ["bootstrap"], "primary_role": "bootstrap", "n_requests": 2}
                for c in range(1, 7)
            ],
            "requests": [
                {**request, "request_id": f"c{1 + i // 2}-{i}", "conn_id": f"c{1 + i // 2}"}
                for i, request in enumerate([*asks(11, every_s=1), asks(1, 1, "InitProducerId")[0]])
            ],
        },
        {"bootstrap_only"},
    ),
    "never leaves, advertised localhost": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1", "roles": ["bootstrap"], "primary_role": "bootstrap", "n_requests": 12}],
            "requests": asks(12, every_s=1),
            **advertised(("localhost", 9092)),
        },
        {"advertised_unreachable"},
    ),
    "has nothing to do": (
        {
            "clients": [{**ONE, "kind": "producer"}],
            "connections": [{"conn_id": "c1", "roles": ["bootstrap"], "primary_role": "bootstrap", "n_requests": 12}],
            "requests": asks(12, every_s=300),
        },
        set(),
    ),
    "goes to work": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1"}],
            "requests": [*asks(12, every_s=1), {**asks(1, 1, "Fetch")[0], "request_id": "c1-99", "ts_ns": 20 * S}],
        },
        set(),
    ),
    "looks for a coordinator that nobody can reach": (looks_up("FindCoordinator", kind="consumer"), {"bootstrap_only"}),
    "looks up offsets after it worked": (looks_up("OffsetFetch", kind="consumer", worked=True), {"bootstrap_only"}),
    "asks for Metadata every six seconds after it worked": (
        looks_up("Metadata", kind="producer", worked=True, every_s=6),
        set(),
    ),
    "asks for Metadata all the time after it worked": (
        looks_up("Metadata", kind="producer", worked=True, every_s=0.9, n=14),
        {"bootstrap_only"},
    ),
    "a tool that asks for Metadata ten times a second": (
        looks_up("Metadata", kind="unknown", every_s=0.1, n=120),
        {"bootstrap_only"},
    ),
    "a probe": (looks_up("Metadata", kind="unknown", every_s=1), set()),
    "an exporter of offsets": (looks_up("ListOffsets", kind="admin"), set()),
    "a producer that stops": (stops(), {"producer_stopped"}),
    "a producer that stops after an error": (stops(error=19), {"producer_stopped"}),
    "a producer that goes on": (stops(sent_again_s=9), set()),
    "a producer that ends": (stops(alive_s=12), set()),
    "a producer that cannot connect": (stops(tries=True), set()),
    "the latest offset is lower than the log": (latest(0), {"latest_too_low"}),
    "the latest offset is the end": (latest(40), set()),
    "the earliest offset": (latest(0, timestamp=-2), set()),
    "the latest offset of a new log": (latest(0, then=3), set()),
    "a member that fetches nothing": (fetches_nothing("idle"), {"unread_assignment"}),
    "a member that ends soon": (fetches_nothing("soon", last_s=20), set()),
    "a member whose host fetches": (fetches_nothing("host", conn_id="c3"), set()),
    "a member that fetched once": (fetches_nothing("once", conn_id="c1"), set()),
    "connections that stay half closed": (half_closed(2), {"left_half_closed"}),
    "one connection that stays half closed": (half_closed(1, host=41), set()),
    "one in use that stays half closed": (half_closed(1, host=42, idle_ms=300), {"left_half_closed"}),
    "one in use that another replaces": (half_closed(1, host=43, idle_ms=300, again=True), set()),
    "connections that the client closes": (half_closed(2, client_fin=True), set()),
    "connections of a host that is gone": (half_closed(2, repeated_ms=900), set()),
    "an address has another node id": (renumbered(("n1", 71, 5), ("n1", 72, 30)), {"node_id_changed"}),
    "its former node has no successor": (
        renumbered(("n7", 79, 5), ("n7", 80, 30), error=True),
        {"node_id_changed"},
    ),
    "an address whose node is elsewhere": (renumbered(("n2", 73, 5), ("n2", 74, 30), ("n3", 73, 31)), set()),
    "an address that another node takes over": (renumbered(("n4", 75, 5), ("n5", 76, 6), ("n4", 76, 30)), set()),
    "an address of several nodes": (renumbered(("n6", 77, 5), ("n6", 78, 30), ("n6", 77, 40)), set()),
    "Metadata all the time": (refreshes(250, 20), {"lookup_storm"}),
    "Metadata all the time that fails": (refreshes(250, 20, works=False, n_errors=1), {"lookup_storm"}),
    "Metadata after each back-off": (refreshes(250, 110), set()),
    "Metadata at a start": (refreshes(100, 1), set()),
    "Metadata for another client's topics": (refreshes(250, 20, works=False), set()),
    "a refused batch comes after later ones": (sent_again(after_later=True), {"written_out_of_order"}),
    "a refused batch comes before later ones": (sent_again(after_later=False), set()),
    "a refused batch of an idempotent producer": (sent_again(after_later=True, producer_id=7), set()),
    "answered out of order": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1"}],
            "requests": [
                {**request, "correlation_id": n, "request_packet_no": 10 + n, "server_ip": "10.0.0.1", **answer}
                for n, (request, answer) in enumerate(
                    zip(asks(3, every_s=1), (answered(30), answered(32, late=True), answered(31)), strict=True)
                )
            ],
        },
        {"responses_out_of_order"},
    ),
    "commits behind a long poll": (behind_polls(20, queued_ms=495), {"behind_long_poll"}),
    "few commits behind a long poll": (behind_polls(19, queued_ms=495), set()),
    "connections that a client closes in the middle of responses": (cut_off(3), {"abandoned_responses"}),
    "a client that stops in the middle of responses": (cut_off(2), set()),
    "a server that ends in the middle of responses": (cut_off(3, close_kind="rst_server"), set()),
    "Fetch that is never answered": (held_for_ever(3), {"never_answered"}),
    "Fetch that may still wait": (held_for_ever(3, close_ms=900), set()),
    "nothing is answered": (held_for_ever(3, asked_else=False), set()),
    "offsets that a new leader gives a second time": (
        accepted((1, 10, 1), (1, 12, 2), (2, 12, 3), (2, 14, 4)),
        {"log_truncated"},
    ),
    "offsets that a new leader gives to the same batch": (accepted((1, 10, 1), (1, 12, 2), (2, 12, 2)), set()),
    "a new leader that goes on": (accepted((1, 10, 1), (2, 12, 2), (2, 14, 3)), set()),
    "a topic that begins again": (accepted((1, 10, 1), (2, 0, 2)), set()),
    "offsets of batches that were refused": (accepted((1, 10, 1), (2, 10, 2), error_code=6), set()),
    "heartbeats one after the other behind a long poll": (behind_one_poll(20), {"behind_long_poll"}),
    "requests that waited for each other, and for no poll": (behind_one_poll(20, sent_ms=700), set()),
    "late commits, and polls on another connection": (behind_polls(20, queued_ms=495, polls_on="c2"), set()),
    "commits that wait for a broker that was late": (behind_polls(20, queued_ms=3_000), set()),
    "commits that the broker itself takes long for": (behind_polls(20, queued_ms=200, own_ms=300), set()),
    "answered in order": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1"}],
            "requests": [
                {**request, "correlation_id": n, "request_packet_no": 10 + n, **answered(30 + n)}
                for n, request in enumerate(asks(3, every_s=1))
            ],
        },
        set(),
    ),
    "session ended": (session_ended(closed_s=13), {"reauth_late"}),
    "closed before its session ended": (session_ended(closed_s=11), set()),
    "left after its session ended": (session_ended(closed_s=13, close_kind="fin_client"), set()),
    "plain to tls": (lost("client", client_fault="wrong_protocol"), {"wrong_protocol"}),
    "tls to plain, of no client that can be read": (
        lost("client", client_fault="wrong_protocol", clients=[]),
        {"wrong_protocol"},
    ),
    "a process that was stopped": (lost("client", client_fault="stalled"), set()),
    "old": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1", "api_versions_used": ["Fetch:3"]}],
            "requests": [{**asks(1, 1, "Fetch")[0], "api_key": 1, "api_version": 3}],
        },
        {"old_versions"},
    ),
    "old library at a new broker": (
        {
            "clients": [{**ONE, "software_name": "librdkafka", "software_version": "1.0.1"}],
            "connections": [{"conn_id": "c1", "api_versions_used": ["Fetch:3"]}]
            + [
                {"conn_id": f"b{n}", "node_id": n, "api_versions_offered": [f"Fetch:{low}-17", "Produce:0-12"]}
                for n, low in ((1, 0), (2, 4), (3, 4))
            ],
            "requests": [{**asks(1, 1, "Fetch")[0], "api_key": 1, "api_version": 3}],
        },
        {"old_versions"},
    ),
    "old library at an old broker": (
        {
            "clients": [{**ONE, "software_name": "apache-kafka-java", "software_version": "3.5.2"}],
            "connections": [{"conn_id": "c1", "api_versions_used": ["Fetch:3"]}]
            + [{"conn_id": f"b{n}", "node_id": n, "api_versions_offered": ["Fetch:0-3"]} for n in (1, 2)],
            "requests": [{**asks(1, 1, "Fetch")[0], "api_key": 1, "api_version": 3}],
        },
        {"old_versions"},
    ),
    "just new enough": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1", "api_versions_used": ["Fetch:4", "Produce:2"]}],
            "requests": [{**asks(1, 1, "Fetch")[0], "api_key": 1, "api_version": 4}],
        },
        set(),
    ),
    "old between brokers": (
        {
            "clients": [{**ONE, "kind": "broker"}],
            "connections": [{"conn_id": "c1", "api_versions_used": ["Fetch:3"]}],
            "requests": [{**asks(1, 1, "Fetch")[0], "api_key": 1, "api_version": 3}],
        },
        set(),
    ),
    "cannot read zstd": (fetches("zstd", 0, *[9] * 25), {"unreadable_batches"}),
    "goes on after a rewind": (fetches("zstd", *[9] * 25, 12), set()),
    "not compressed": (fetches("none", *[9] * 25), set()),
    "gets it four times": (fetches("zstd", *[9] * 4), set()),
    "fetch size too small": (same_offset(25, 0.5), {"same_offset_again"}),
    "does not get past a marker": (same_offset(25, 0.5, n_batches=1, last_offset=7), {"same_offset_again"}),
    "goes on at last": (same_offset(25, 0.5, 8), set()),
    "at the end of the log": (same_offset(25, 0.5, high_watermark=7), set()),
    "at the last stable offset": (same_offset(25, 0.5, stable=7), set()),
    "only for some seconds": (same_offset(25, 0.3), set()),
    "goes back to one offset": (goes_back("back1", 7, 7, 7, 7), {"returns_to_offset"}),
    "starts again at one offset": (goes_back("back2", 7, 7, 7, 7, restarts=True), {"returns_to_offset"}),
    "goes back twice": (goes_back("back3", 7, 7, 7), set()),
    "goes back for a moment": (goes_back("back4", 7, 7, 7, 7, every_s=1), set()),
    "starts again at later offsets": (goes_back("back5", 7, 9, 12, 15, restarts=True), set()),
    "slow broker": (started(15, broker_us=14_000_000), {"slow_startup"}),
    "quick": (started(3, broker_us=2_900_000), set()),
    "bytes missing": (
        {"clients": [ONE], "connections": [{"conn_id": "c1", "missing_bytes": 100}], "captures": [{}]},
        {"capture_untrustworthy"},
    ),
    "hardly any bytes missing": (
        {"clients": [ONE], "connections": [{"conn_id": "c1", "missing_bytes": 5}], "captures": [{}]},
        set(),
    ),
    "packets dropped": (
        {"clients": [ONE], "connections": [{"conn_id": "c1"}], "captures": [{"n_dropped": 50}]},
        {"capture_untrustworthy"},
    ),
    "file damaged": (
        {
            "clients": [ONE],
            "connections": [{"conn_id": "c1"}],
            "captures": [{"unread_bytes": 100_000, "cut_at_byte": 5_000, "cut_why": "not a packet header"}],
        },
        {"capture_untrustworthy"},
    ),
    "acl of two partitions": (
        {
            **denied("TOPIC_AUTHORIZATION_FAILED"),
            "errors": [
                {**denied("TOPIC_AUTHORIZATION_FAILED")["errors"][0], "topic": "orders", "resource": f"orders-{n}"}
                for n in (0, 1)
            ],
        },
        {"access_denied"},
    ),
    **REPORTED_CASES,
}


ALONE = {
    "one direction",
    "bytes missing",
    "hardly any bytes missing",
    "packets dropped",
    "file damaged",
    "old library at an old broker",
    "elect no controller",
    "elect a controller at last",
    "ask for votes in one round",
}
"""What is about the capture or the cluster as a whole, or about what all its brokers offer."""


@pytest.fixture(scope="module")
def found_by_case(
    found_in: Callable[[Any], Any], found_in_all: Callable[[Any], Any]
) -> dict[str, list[dict[str, Any]]]:
    together = {name: rows for name, (rows, _) in CASES.items() if name not in ALONE}
    return {**found_in_all(together), **{name: found_in(CASES[name][0]) for name in ALONE}}


@pytest.mark.parametrize("name", CASES)
def test_finds_what_is_there_and_nothing_else(found_by_case: dict[str, list[dict[str, Any]]], name: str) -> None:
    assert {row["rule"] for row in found_by_case[name]} == CASES[name][1]


def test_sentences_have_subject_number_and_time(found_by_case: dict[str, list[dict[str, Any]]]) -> None:
    rows = [row for rows in found_by_case.values() for row in rows]
    for row in rows:
        assert row["sentence"], row
        assert row["advice"] or row["incident_id"], "an incident has its own actions"
        assert row["n"] > 0, row
        assert row["first_ns"] <= row["last_ns"], row
        assert "00:0" in row["sentence"] or row["rule"] == "capture_untrustworthy", row["sentence"]
    assert len({row["finding_id"] for row in rows}) <= len(rows)


def test_sentences(found_by_case: dict[str, list[dict[str, Any]]]) -> None:
    """What the rows above must read as."""
    sentence = {name: rows[0]["sentence"] for name, rows in found_by_case.items() if len(rows) == 1}
    assert sentence["broker lost"] == "Node 1 failed from 00:09.000. It affected 1 client or broker"
    assert sentence["broker frozen"].endswith(". It affected 2 clients and brokers")
    assert sentence["old"].endswith("Fetch v3 (once, v4 would do), first at 00:01.000 (00:00:02.000 UTC)")
    assert ", and nobody answers there: 1 attempt, 1 of them refused" in sentence["advertised and refused"]
    assert "kafka-1.lab:" in sentence["refused by a name's address"]
    assert " was refused orders 2 times (TOPIC_AUTH" in sentence["acl of two partitions"]
    assert sentence["bytes missing"].startswith("4.8 % of the bytes")
    assert "without traffic the connection of app (10.0." in sentence["no answer after silence"]
    assert sentence["no answer after silence"].startswith("after 1 min 30 s")
    assert ", librdkafka 1.9.2, got the batch at offset 9 of t-0 25 times in 12.0 s" in sentence["cannot read zstd"]
    assert "compressed with zstd" in sentence["cannot read zstd"]
    assert sentence["idle connections are replaced"].startswith("4 connections of app (10.0.")
    assert " after a pause of 8.00 s or longer, first at 00:09.000 (" in sentence["idle connections are replaced"]
    back = sentence["goes back to one offset"]
    assert back.startswith("Group back1 went back to offset 7 of back1-0 3 times, from 00:04.000 (")
    assert back.endswith(") fetched the same records once more by itself (3 times)")
    assert "up to offset 89: " in back
    assert "in a new process (3 times)" in sentence["starts again at one offset"]
    cut = sentence["connections that a client closes in the middle of responses"]
    assert "closed 3 connections to" in cut
    assert "within 1.00 ms of its first byte, which names its length. The responses have 3.8 MiB" in cut
    assert " never answered Fetch of app (10.0." in sentence["Fetch that is never answered"]
    truncated = sentence["offsets that a new leader gives a second time"]
    assert truncated.startswith(
        "2 records of pay that brokers had accepted are lost: node 2, leader of pay-0 after node 1"
    )
    assert ", gave the offsets 12 to 13 to others from" in truncated
    assert ", sent 3 times from " in sentence["Fetch that is never answered"]


@pytest.mark.parametrize(("name", "words"), REPORTED_SENTENCES.items())
def test_sentences_of_reported_cases(found_by_case: dict[str, list[dict[str, Any]]], name: str, words: str) -> None:
    (row,) = found_by_case[name]
    assert words in row["sentence"], row["sentence"]


def test_an_old_library_is_told_its_release_and_who_refuses_it(found_by_case: dict[str, list[dict[str, Any]]]) -> None:
    (row,) = found_by_case["old library at a new broker"]
    assert row["advice"].startswith("Upgrade librdkafka (now 1.0.1) to 1.8.2 or newer before the brokers get")
    assert row["advice"].endswith("Of the brokers here nodes 2, 3 would refuse it, as all of Kafka 4.0 or newer do.")
    assert "offer no newer versions" not in row["advice"]
    (limited,) = found_by_case["old library at an old broker"]
    assert "The brokers here offer no newer versions of them: upgrade these first." in limited["advice"]
    assert "The brokers here (nodes 1, 2) still answer it" in limited["advice"]
    (unknown,) = found_by_case["old"]
    assert unknown["advice"].startswith("Upgrade the client library to a release that speaks the protocol of Kafka 2.1")


def test_a_lost_broker_is_what_its_incident_says(found_by_case: dict[str, list[dict[str, Any]]]) -> None:
    (row,) = found_by_case["broker lost"]
    assert (row["subject"], row["advice"]) == ("node 1 (10.0.0.1:9092)", "Look at its log.")
    assert (row["first_ns"], row["last_ns"], row["n"]) == (10 * S, 14 * S, 1)
    assert [each.rpartition("x")[2] for each in row["evidence"]] == ["1-3", "2"]
    (silent_to_the_end,) = found_by_case["broker silent"]
    assert silent_to_the_end["last_ns"] == 100 * S, "the end of the capture"
    (several,) = found_by_case["broker frozen"]
    assert several["client_instance_id"] is None
