"""Rows of situations that users reported in public trackers, made by hand: what rules must find in them, and the
nearest thing in which they must find nothing. `test_tiny_cases.py` runs them."""

from typing import Any

S, MS = 1_000_000_000, 1_000_000
ONE = {"client_instance_id": "ci-1", "client_id": "app", "kind": "consumer"}
FETCH = {"api_key": 1, "api_name": "Fetch", "conn_id": "c1", "status": "ok"}
ANSWER = {"api_key": 1, "direction": "response", "topic": "t", "partition": 0, "error_code": 0}


def reads_late(n: int, *, closed_ms: int = 700, every_ms: int = 1_000, side: str = "client") -> dict[str, Any]:
    """A client whose receive window closes during each response
    (https://github.com/logstash-plugins/logstash-integration-kafka/issues/209)."""
    marks = []
    for i in range(n):
        begin = 2 * S + i * every_ms * MS
        for number, (event, ts_ns) in enumerate((("zero_window", begin), ("window_open", begin + closed_ms * MS))):
            mark = {"conn_id": "c1", "side": side, "event": event, "ts_ns": ts_ns, "packet_no": 10 * i + number}
            marks.append(mark)
    return {"clients": [ONE], "connections": [{"conn_id": "c1", "node_id": 1}], "tcp_events": marks}


def sent_away(n: int, *, every_s: int = 4, reads: bool = True, refused: bool = False) -> dict[str, Any]:
    """A consumer that asks the leader, node 1, which names node 3 as its preferred replica, again and again
    (https://github.com/IBM/sarama/issues/2071). reads: whether it fetches from node 3 in between;
    refused: whether that does not have the offset."""
    rows = []
    for i in range(n):
        begin = (2 + i * every_s) * S
        away = {"conn_id": "c1", "request_id": f"c1-{i}", "ts_ns": begin, "preferred_read_replica": 3, "n_records": 0}
        rows.append({**ANSWER, **away})
        if reads:
            read = {"conn_id": "c3", "request_id": f"c3-{i}", "ts_ns": begin + 2 * S, "preferred_read_replica": -1}
            got = {"error_code": 1, "n_records": 0} if refused else {"n_records": 4}
            rows.append({**ANSWER, **read, **got})
    connections = [{"conn_id": "c1", "node_id": 1}, {"conn_id": "c3", "node_id": 3}]
    who = {**ONE, "conn_ids": ["c1", "c3"]}
    return {"clients": [who], "connections": connections, "partitions": rows}


def gets_nothing(n: int, **answer: Any) -> dict[str, Any]:
    """A consumer whose Fetch brings nothing of an offset that is in the log
    (https://github.com/Aiven-Open/tiered-storage-for-apache-kafka/issues/483)."""
    requests, rows = [], []
    for i in range(n):
        at = {"request_id": f"c1-{i}", "ts_ns": 2 * S + i * 510 * MS}
        requests.append({**FETCH, **at, "api_version": 13, "max_wait_ms": 500})
        asked = {"conn_id": "c1", "api_key": 1, "topic": "t", "partition": 0, "partition_offset": 7}
        rows.append({**asked, **at, "direction": "request"})
        rows.append({**ANSWER, **at, "conn_id": "c1", "high_watermark": 21, "n_batches": 0, **answer})
    return {"clients": [ONE], "connections": [{"conn_id": "c1"}], "requests": requests, "partitions": rows}


def paced(n: int, *, pause_ms: int = 1_000, produced: int = 100) -> dict[str, Any]:
    """A consumer that gets 24 records with each Fetch, and asks for the next so much later, while so many are written
    meanwhile (https://github.com/confluentinc/librdkafka/issues/1377)."""
    requests, partitions = [], []
    for i in range(n):
        asked = 2 * S + i * (pause_ms + 4) * MS
        request_id = f"c1-{i}"
        requests.append({**FETCH, "request_id": request_id, "ts_ns": asked, "response_ns": asked + 4 * MS})
        offsets = {"last_offset": 24 * i + 23, "high_watermark": 24 + 1 + produced * i}
        got = {"conn_id": "c1", "request_id": request_id, "ts_ns": asked + 4 * MS, "n_records": 24}
        partitions.append({**ANSWER, **got, **offsets})
    return {"clients": [ONE], "connections": [{"conn_id": "c1"}], "requests": requests, "partitions": partitions}


def begins_sessions(n: int, node_id: int, *, given: int = 0, error_code: int = 0, uses: int = 0) -> dict[str, Any]:
    """A consumer that asks for a new fetch session with each Fetch
    (https://github.com/platformatic/kafka/issues/315). given: the first session that its broker gives, each time
    another one; 0: none. error_code: of each response. uses: how often it goes on with a session before it begins
    another."""
    rows = []
    for i in range(n):
        epoch = i % (1 + uses)
        own = {"request_id": f"c1-{i}", "ts_ns": (2 + i) * S, "fetch_session_epoch": epoch, "error_code": error_code}
        rows.append({**FETCH, **own, "fetch_session_id": given + i if given else 0, "node_id": node_id})
    return {"clients": [ONE], "connections": [{"conn_id": "c1"}], "requests": rows}


def begins_anew(
    timestamp: int,
    offset: int,
    topic: str,
    *,
    committed: int | None = None,
    written: int | None = None,
    asks_again: bool = False,
) -> dict[str, Any]:
    """A member whose OffsetFetch fails, and that goes to an end of the log then
    (https://github.com/platformatic/kafka/issues/267). timestamp: what it looks up, -1 the latest offset; offset: what
    it is told; committed: by the group before; written: the first offset that a producer was given; asks_again:
    whether it repeats OffsetFetch, with success, before that."""
    at = {"conn_id": "c1", "topic": topic, "partition": 0}
    error = {"error_name": "STALE_MEMBER_EPOCH", "api_name": "OffsetFetch", "group_id": "g", "conn_id": "c1"}
    requests = [
        {"request_id": "c1-1", "conn_id": "c1", "api_key": 9, "ts_ns": 30 * S, "error_code": 113, "n_errors": 1}
    ]
    if asks_again:
        requests.append({"request_id": "c1-2", "conn_id": "c1", "api_key": 9, "ts_ns": 31 * S})
    found = {**at, "request_id": "c1-3", "ts_ns": 32 * S, "api_key": 2, "direction": "response", "error_code": 0}
    fetch = {**at, "request_id": "c1-4", "ts_ns": 33 * S, "api_key": 1, "direction": "request"}
    partitions = [{**found, "partition_offset": offset}, {**fetch, "partition_offset": offset}]
    if committed is not None:
        requests.append({"request_id": "c1-0", "conn_id": "c1", "api_key": 8, "ts_ns": 3 * S, "group_id": "g"})
        commit = {**at, "request_id": "c1-0", "ts_ns": 3 * S, "api_key": 8, "direction": "request"}
        partitions.append({**commit, "partition_offset": committed})
    if written is not None:
        write = {**at, "conn_id": "c2", "request_id": "c2-0", "ts_ns": 2 * S, "api_key": 0, "direction": "response"}
        partitions.append({**write, "partition_offset": written, "error_code": 0})
    asked = {"name": topic, "partitions": [{"partition_index": 0, "timestamp": timestamp}]}
    return {
        "clients": [ONE],
        "connections": [{"conn_id": "c1"}, {"conn_id": "c2"}],
        "errors": [{**error, "request_id": "c1-1", "ts_ns": 30 * S}],
        "requests": requests,
        "partitions": partitions,
        "messages/ListOffsets/request": [{"request_id": "c1-3", "topics": [asked]}],
    }


def asked_for_ids(n: int, *, joined: bool = False) -> dict[str, Any]:
    """A client whose JoinGroup gets MEMBER_ID_REQUIRED so many times (KIP-394). joined: whether one succeeds then."""
    error = {"error_name": "MEMBER_ID_REQUIRED", "api_name": "JoinGroup", "group_id": "g", "client_ip": "10.0.0.9"}
    errors = [{**error, "request_id": f"c1-{i}", "conn_id": "c1", "ts_ns": (2 + i) * S} for i in range(n)]
    join = {"request_id": f"c1-{n}", "conn_id": "c1", "ts_ns": 50 * S, "api_key": 11, "api_name": "JoinGroup"}
    requests = [{**join, "group_id": "g"}] if joined else []
    return {"clients": [ONE], "connections": [{"conn_id": "c1"}], "errors": errors, "requests": requests}


def refused_topics(n: int, error: str = "POLICY_VIOLATION", message: str | None = None) -> dict[str, Any]:
    """A program that is started so many times, and is refused the topic that it needs
    (https://github.com/confluentinc/ksql/issues/3942)."""
    own = {"error_name": error, "api_name": "CreateTopics", "client_ip": "10.0.0.9", "client_id": "app"}
    own |= {"topic": "commands", "message": message}
    rows = [{**own, "request_id": f"c{i}-1", "conn_id": f"c{i}", "ts_ns": (2 + i) * S} for i in range(1, n + 1)]
    admins = [
        {"client_instance_id": f"ci-{i}", "client_id": "app", "kind": "admin", "conn_ids": [f"c{i}"]}
        for i in range(1, n + 1)
    ]
    return {"clients": admins, "connections": [{"conn_id": f"c{i}"} for i in range(1, n + 1)], "errors": rows}


def reads_old(n: int, node_id: int, *, took_ms: int = 4_000, others_ms: int = 2) -> dict[str, Any]:
    """A consumer of old records, for each of which its broker takes so long, and a producer beside it."""
    requests, partitions = [], []
    for i in range(n):
        asked = (2 + 5 * i) * S
        mine = {"request_id": f"c1-{i}", "ts_ns": asked, "response_ns": asked + took_ms * MS, "n_records": 200}
        times = {"max_wait_ms": 500, "broker_us": took_ms * 1_000, "throttle_ms": 0, "node_id": node_id}
        requests.append({**FETCH, **mine, **times})
        got = {"conn_id": "c1", "request_id": f"c1-{i}", "ts_ns": asked, "n_records": 200}
        partitions.append({**ANSWER, **got, "last_offset": 200 * i, "high_watermark": 900_000})
        other = {"api_key": 0, "api_name": "Produce", "conn_id": "c2", "status": "ok", "request_id": f"c2-{i}"}
        other |= {"ts_ns": asked + MS, "n_records": 1, "broker_us": others_ms * 1_000, "node_id": node_id}
        requests.append(other)
    known = [{"conn_id": "c1", "node_id": node_id}, {"conn_id": "c2", "node_id": node_id}]
    return {"clients": [ONE], "connections": known, "requests": requests, "partitions": partitions}


def no_such_session(n: int, *, begins_anew: bool = False) -> dict[str, Any]:
    """A consumer that goes on with a fetch session that its broker does not have
    (https://github.com/redpanda-data/redpanda/pull/27749). begins_anew: whether each error is followed by success."""
    error = {"error_name": "INVALID_FETCH_SESSION_EPOCH", "api_key": 1, "api_name": "Fetch", "conn_id": "c1"}
    errors = [{**error, "request_id": f"c1-{2 * i}", "ts_ns": (2 + 2 * i) * S, "node_id": 91} for i in range(n)]
    requests = [{**FETCH, "request_id": row["request_id"], "ts_ns": row["ts_ns"], "error_code": 71} for row in errors]
    if begins_anew:
        requests += [{**FETCH, "request_id": f"c1-{2 * i + 1}", "ts_ns": (3 + 2 * i) * S} for i in range(n)]
    who = {**ONE, "conn_ids": ["c1"]}
    return {"clients": [who], "connections": [{"conn_id": "c1"}], "errors": errors, "requests": requests}


def asks_another_broker(n: int, *, lands: bool = False) -> dict[str, Any]:
    """An administrator whose library sends CreateTopics to any broker
    (https://github.com/aio-libs/aiokafka/issues/939). lands: whether one of them reaches the controller."""
    create = {"api_key": 19, "api_name": "CreateTopics", "conn_id": "c1"}
    errors = [
        {**create, "error_name": "NOT_CONTROLLER", "request_id": f"c1-{i}", "ts_ns": (2 + i) * S, "node_id": 92}
        for i in range(n)
    ]
    requests = [
        {**create, "request_id": row["request_id"], "ts_ns": row["ts_ns"], "n_errors": 1, "node_id": 92}
        for row in errors
    ]
    if lands:
        requests.append({**create, "request_id": "c2-1", "conn_id": "c2", "ts_ns": 3 * S + MS})
    known = [{"kind": "controller", "node_id": 93, "conn_id": "c1", "request_id": "c1-0", "ts_ns": S}]
    who = {**ONE, "kind": "admin", "conn_ids": ["c1", "c2"]}
    connections = [{"conn_id": "c1", "node_id": 92}, {"conn_id": "c2", "node_id": 93}]
    return {
        "clients": [who],
        "connections": connections,
        "errors": errors,
        "requests": requests,
        "topology": known,
    }


def cut_off(n: int, *, close_kind: str = "fin_server", others: int | None = None, offered: int = 5) -> dict[str, Any]:
    """A producer whose connections are ended at each Produce v7 (https://github.com/tulios/kafkajs/issues/1656).
    others: the version of Produce in which another client is answered; offered: the highest that the server names."""
    connections = [
        {"conn_id": f"c{i}", "close_kind": close_kind, "close_ns": (2 + i) * S + MS} for i in range(1, n + 1)
    ]
    produce = {"api_key": 0, "api_name": "Produce", "api_version": 7}
    requests = [
        {**produce, "conn_id": f"c{i}", "request_id": f"c{i}-1", "ts_ns": (2 + i) * S, "status": "unanswered"}
        for i in range(1, n + 1)
    ]
    clients = [{**ONE, "kind": "producer", "conn_ids": [row["conn_id"] for row in connections]}]
    connections.append({"conn_id": "c99", "api_versions_offered": [f"Produce:0-{offered}", "Metadata:0-12"]})
    if others is not None:
        requests.append({**produce, "api_version": others, "conn_id": "c99", "request_id": "c99-1", "ts_ns": 4 * S})
        clients.append({**ONE, "client_instance_id": "ci-2", "client_id": "other", "conn_ids": ["c99"]})
    return {"clients": clients, "connections": connections, "requests": requests}


def leaves_a_controller(n: int, *, offers: str = "Vote:0-1") -> dict[str, Any]:
    """A program that is given the address of a controller (https://github.com/apache/kafka/pull/11135). offers: what
    the server offers besides ApiVersions."""
    hello = {"server_ip": "10.0.0.31", "server_port": 9093, "n_requests": 1, "n_responses": 1}
    hello |= {"close_kind": "fin_client", "api_versions_offered": ["ApiVersions:0-4", offers]}
    connections = [{**hello, "conn_id": f"c{i}", "first_ns": i * S, "last_ns": i * S + MS} for i in range(1, n + 1)]
    who = {**ONE, "kind": "unknown", "conn_ids": [row["conn_id"] for row in connections]}
    return {"clients": [who], "connections": connections}


def gives_up(n: int, *, patience_ms: int = 500, took_ms: int = 800) -> dict[str, Any]:
    """A producer that closes its connection so long after each Produce, answered after took_ms, and sends the same on
    the next."""
    connections, requests = [], []
    for i in range(1, n + 1):
        asked, ids = (2 + i) * S, {"conn_id": f"c{i}", "request_id": f"c{i}-1"}
        connections.append({"conn_id": f"c{i}", "close_kind": "fin_client", "close_ns": asked + patience_ms * MS})
        produce = {**ids, "api_key": 0, "api_name": "Produce", "ts_ns": asked, "response_ns": asked + took_ms * MS}
        requests.append({**produce, "latency_us": took_ms * 1_000, "acks": -1})
    who = {**ONE, "kind": "producer", "conn_ids": [row["conn_id"] for row in connections]}
    return {"clients": [who], "connections": connections, "requests": requests}


def appended(topic: str, then_at: int) -> dict[str, Any]:
    """A batch that a leader has written though too few replicas have it, sent again
    (https://github.com/confluentinc/librdkafka/issues/4953). then_at: the offset that it gets then; the log goes on at
    105 behind the batch before."""
    place = {"conn_id": "c1", "topic": topic, "partition": 0, "api_key": 0}
    sizes = {"n_records": 5, "record_bytes": 300, "direction": "request"}
    batches = [
        {**place, **sizes, "request_id": f"c1-{i}", "ts_ns": ns, "first_timestamp_ms": made, "max_timestamp_ms": made}
        for i, ns, made in ((1, 2 * S, 1_900), (2, 3 * S, 2_900), (3, 4 * S, 2_900))
    ]
    outcomes = (("NONE", 0, 100), ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", 20, -1), ("NONE", 0, then_at))
    answers = [
        {**place, "direction": "response", "request_id": f"c1-{i}", "ts_ns": (1 + i) * S + MS, "error_name": name}
        | {"error_code": code, "partition_offset": at}
        for i, (name, code, at) in enumerate(outcomes, 1)
    ]
    who = {**ONE, "kind": "producer", "conn_ids": ["c1"]}
    error = {**place, "api_name": "Produce", "request_id": "c1-2", "ts_ns": 3 * S, "error_name": outcomes[1][0]}
    connections = [{"conn_id": "c1"}]
    return {"clients": [who], "connections": connections, "partitions": [*batches, *answers], "errors": [error]}


def late_for_its_lock(error: str = "INVALID_RECORD_STATE") -> dict[str, Any]:
    """A share consumer that acknowledges records 40 s after it got them, where a lock lasts 30 s (KIP-932)."""
    got = {"conn_id": "c1", "request_id": "c1-1", "group_id": "sg", "api_key": 78, "api_name": "ShareFetch"}
    got |= {"ts_ns": 2 * S, "response_ns": 2 * S + MS, "response_last_ns": 2 * S + MS, "n_records": 100}
    told = {"conn_id": "c1", "request_id": "c1-2", "group_id": "sg", "api_key": 79, "api_name": "ShareAcknowledge"}
    told |= {"ts_ns": 42 * S}
    error_row = {**told, "error_name": error, "topic": "tasks"}
    lock = [{"conn_id": "c1", "acquisition_lock_timeout_ms": 30_000}]
    who = {**ONE, "conn_ids": ["c1"]}
    return {
        "clients": [who],
        "connections": [{"conn_id": "c1"}],
        "requests": [got, told],
        "errors": [error_row],
        "messages/ShareFetch/response": lock,
    }


def between_handshakes(n: int, *, after: str = "SaslHandshake") -> dict[str, Any]:
    """A client that sends Fetch while it authenticates again, on so many connections (KIP-368). after: the request
    before that Fetch."""
    connections, requests = [], []
    for i in range(1, n + 1):
        conn, ns = f"c{i}", (2 + 10 * i) * S
        closed = {"close_kind": "fin_server", "close_ns": ns + 4 * MS, "sasl_mechanism": "SCRAM-SHA-512"}
        connections.append({"conn_id": conn, **closed, "session_lifetime_ms": 40_000})
        before = {"SaslHandshake": 17, "Heartbeat": 12}[after]
        steps = [("ApiVersions", 18, "ok"), ("Fetch", 1, "ok"), (after, before, "ok"), ("Fetch", 1, "unanswered")]
        requests += [
            {"conn_id": conn, "request_id": f"{conn}-{j}", "ts_ns": ns + j * MS, "api_name": name, "api_key": key}
            | {"status": status}
            for j, (name, key, status) in enumerate(steps)
        ]
    who = {**ONE, "conn_ids": [row["conn_id"] for row in connections]}
    return {"clients": [who], "connections": connections, "requests": requests}


def holds(n: int, *, wait_ms: int = 10_000, min_bytes: int = 1_000_000) -> dict[str, Any]:
    """Fetch that a broker answers with few bytes when their time is over
    (https://github.com/segmentio/kafka-go/issues/505)."""
    rows = []
    for i in range(n):
        asked = 2 * S + i * 11 * S
        own = {
            "request_id": f"c1-{i}",
            "ts_ns": asked,
            "response_ns": asked + wait_ms * MS,
            "broker_us": wait_ms * 1_000,
        }
        rows.append(
            {**FETCH, **own, "max_wait_ms": wait_ms, "min_bytes": min_bytes, "n_records": 3, "record_bytes": 300}
        )
    return {"clients": [ONE], "connections": [{"conn_id": "c1"}], "requests": rows}


def commits_by_turns(n: int, *, step: int = 0, generation: int = -1) -> dict[str, Any]:
    """Two consumers that commit for one group by turns, at 500 and at 90
    (https://github.com/confluentinc/librdkafka/issues/2999). step: how far both go on each time."""
    requests, rows = [], []
    for i in range(n):
        own = {"request_id": f"c{1 + i % 2}-{i}", "conn_id": f"c{1 + i % 2}", "ts_ns": (2 + i) * S}
        commit = {"api_key": 8, "api_name": "OffsetCommit", "group_id": f"turns{step}{generation}"}
        commit["generation_or_epoch"] = generation
        requests.append({**own, **commit})
        offset = (500, 90)[i % 2] if not step else 100 + i * step
        place = {"api_key": 8, "direction": "request", "topic": "t", "partition": 0}
        rows.append({**own, **place, "partition_offset": offset})
    clients = [{**ONE, "client_instance_id": f"ci-{j}", "client_id": f"app-{j}", "conn_ids": [f"c{j}"]} for j in (1, 2)]
    connections = [{"conn_id": "c1"}, {"conn_id": "c2"}]
    return {"clients": clients, "connections": connections, "requests": requests, "partitions": rows}


def says_hello(n: int, *, others: int | None = 3) -> dict[str, Any]:
    """Connections on which nothing comes after ApiVersions v4, while another client is answered
    (https://github.com/kroxylicious/kroxylicious/issues/1611). others: the version that was answered; None: nobody."""
    connections, requests = [], []
    hello = {"api_key": 18, "api_name": "ApiVersions"}
    for i in range(n):
        begin, conn = (2 + 11 * i) * S, f"c{10 + i}"
        ends = {"first_ns": begin, "close_ns": begin + 10 * S, "last_ns": begin + 10 * S}
        connections.append({"conn_id": conn, **ends, "n_responses": 0, "server_bytes": 0})
        requests.append({**hello, "request_id": f"{conn}-0", "conn_id": conn, "ts_ns": begin, "api_version": 4})
        requests[-1] |= {"status": "unanswered"}
    mine = {**ONE, "conn_ids": [row["conn_id"] for row in connections]}
    connections.append({"conn_id": "c2"})
    if others is not None:
        own = {"conn_id": "c2", "status": "ok", "server_ip": "10.0.0.1", "server_port": 9092}
        requests.append({**hello, **own, "request_id": "c2-0", "ts_ns": S, "api_version": others})
        requests.append({**own, "request_id": "c2-1", "ts_ns": 5 * S})
    return {"clients": [mine], "connections": connections, "requests": requests}


def partitions_of(name: str, assigned: int, *, complete: bool = True, fetched: bool = False) -> dict[str, Any]:
    """A group that has so many partitions of a topic, of which the last gets records for 40 s
    (https://github.com/kafka4beam/brod/issues/349). name: of group and topic; fetched: whether a client of the
    group reads it."""
    member = {"client_instance_id": "ci-1", "assigned": [f"{name}-{p}" for p in range(assigned)]}
    settled = {"rebalance_id": "r-1", "group_id": name, "start_ns": S, "end_ns": 2 * S, "members": [member]}
    settled |= {"n_members": 1, "members_complete": complete}
    last = {"topic": name, "partition": 2}
    rows = [
        {**ANSWER, **last, "api_key": 0, "conn_id": "c9", "request_id": f"c9-{i}", "ts_ns": (5 + 2 * i) * S}
        for i in range(21)
    ]
    if fetched:
        rows.append({**ANSWER, **last, "conn_id": "c1", "request_id": "c1-1", "ts_ns": 6 * S})
    who = {**ONE, "group_id": name}
    return {"clients": [who], "connections": [{"conn_id": "c1"}], "rebalances": [settled], "partitions": rows}


def learns_of_a_partition(
    name: str, begins_at: int, *, written: int = 0, reads_before: bool = True, trigger: str = "subscription_changed"
) -> dict[str, Any]:
    """A group that learns of a new partition, to which a producer has written meanwhile
    (https://issues.apache.org/jira/browse/KAFKA-12478). name: of group and topic; begins_at: offset of the group's
    first Fetch there; written: offset of the first accepted record; reads_before: whether the group read the topic
    when that record was accepted."""
    place = {"topic": name, "partition": 1, "owner_before": None, "owner_after": "m-1"}
    member = {"client_instance_id": "ci-1", "member_id": "m-1", "assigned": [f"{name}-0", f"{name}-1"]}
    changed = {"rebalance_id": "r-1", "group_id": name, "start_ns": 20 * S, "end_ns": 21 * S, "members": [member]}
    changed |= {"partitions": [place], "trigger": trigger}
    fetch = {"api_key": 1, "direction": "request", "conn_id": "c1", "topic": name}
    other = {"partition": 0, "partition_offset": 7, "request_id": "c1-0", "ts_ns": (5 if reads_before else 15) * S}
    new = {"partition": 1, "partition_offset": begins_at, "request_id": "c1-1", "ts_ns": 22 * S}
    accepted = {**ANSWER, "topic": name, "partition": 1, "api_key": 0, "conn_id": "c9", "request_id": "c9-1"}
    accepted |= {"partition_offset": written, "ts_ns": 10 * S}
    return {
        "clients": [{**ONE, "group_id": name}],
        "connections": [{"conn_id": "c1"}],
        "rebalances": [changed],
        "partitions": [{**fetch, **other}, {**fetch, **new}, accepted],
    }


def cut_off_while_it_waits(n: int, *, spread_ms: int = 0, wait_ms: int = 60_000) -> dict[str, Any]:
    """Connections that end 50 s after their only Fetch
    (https://github.com/confluentinc/confluent-kafka-python/issues/12). spread_ms: how much later each ends than the one
    before."""
    connections, requests = [], []
    for i in range(n):
        begin = (2 + 60 * i) * S
        end = begin + 50 * S + i * spread_ms * MS
        ends = {"first_ns": begin, "close_ns": end, "last_ns": end, "close_kind": "fin_server"}
        connections.append({"conn_id": f"c{1 + i}", **ends})
        own = {"conn_id": f"c{1 + i}", "request_id": f"c{1 + i}-1", "ts_ns": begin, "status": "unanswered"}
        requests.append({**FETCH, **own, "max_wait_ms": wait_ms})
    who = {**ONE, "conn_ids": [row["conn_id"] for row in connections]}
    return {"clients": [who], "connections": connections, "requests": requests}


def refused_broker(n: int, *, error: str = "INCONSISTENT_CLUSTER_ID", let_in: bool = False) -> dict[str, Any]:
    """A broker whose registration the controller refuses (https://github.com/apache/kafka/pull/11593). let_in: whether
    it takes it at last."""
    own = {"error_name": error, "api_name": "BrokerRegistration", "client_ip": "10.0.0.14", "conn_id": "c1"}
    errors = [{**own, "request_id": f"c1-{i}", "ts_ns": (2 + 2 * i) * S} for i in range(n)]
    registration = {"request_id": "c1-99", "conn_id": "c1", "ts_ns": 50 * S, "client_ip": "10.0.0.14"}
    requests = [{**registration, "api_key": 62, "api_name": "BrokerRegistration"}] if let_in else []
    return {"connections": [{"conn_id": "c1"}], "errors": errors, "requests": requests}


def heartbeats(node: int, n: int, *, fenced: bool = True, let_in: bool = False) -> dict[str, Any]:
    """A broker that registered, and is fenced (https://github.com/bitnami/charts/issues/23777). let_in: whether it is
    not any more at last; another broker reads on."""
    own = [{"request_id": f"c1-{i}", "conn_id": "c1", "ts_ns": (2 + 4 * i) * S} for i in range(n)]
    other = {"request_id": "c2-0", "conn_id": "c2", "ts_ns": 3 * S}
    common = {"api_key": 63, "api_name": "BrokerHeartbeat"}
    state = {"want_shut_down": False}
    asked = [{**row, **state, "broker_id": node, "current_metadata_offset": 41} for row in own]
    answers = [{**row, "is_fenced": fenced, "is_caught_up": not fenced} for row in own]
    if let_in:
        answers[-1] = {**answers[-1], "is_fenced": False}
    return {
        "connections": [{"conn_id": "c1"}, {"conn_id": "c2"}],
        "requests": [{**row, **common, "client_ip": f"10.0.0.1{row['conn_id'][1]}"} for row in [*own, other]],
        "messages/BrokerHeartbeat/request": [
            *asked,
            {**other, **state, "broker_id": 1, "current_metadata_offset": 5000},
        ],
        "messages/BrokerHeartbeat/response": [*answers, {**other, "is_fenced": False, "is_caught_up": True}],
    }


def votes(n: int, *, every_s: int = 2, led_s: int | None = None) -> dict[str, Any]:
    """Controllers that ask each other for votes (https://github.com/bitnami/charts/issues/20403). led_s: when a leader
    says that it is one."""
    place = {"server_ip": "10.0.0.32", "server_port": 9093, "client_ip": "10.0.0.31", "conn_id": "c1"}
    rows = [
        {**place, "request_id": f"c1-{i}", "ts_ns": (2 + every_s * i) * S, "api_key": 52, "api_name": "Vote"}
        for i in range(n)
    ]
    if led_s is not None:
        leader = {"request_id": "c1-99", "ts_ns": led_s * S, "api_key": 53, "api_name": "BeginQuorumEpoch"}
        rows.append({**place, **leader})
    return {"connections": [{"conn_id": "c1"}], "requests": rows}


def answered_at_once(
    n: int, *, took_us: int = 1_000, wait_ms: int = 500, min_bytes: int = 1, held: bool = False
) -> dict[str, Any]:
    """A consumer of a quiet topic that is answered so soon (https://github.com/redpanda-data/redpanda/issues/1115).
    held: the server lets one Fetch wait, later."""
    every = (took_us + 700) * 1_000
    own = {**FETCH, "max_wait_ms": wait_ms, "min_bytes": min_bytes, "broker_us": took_us, "n_records": 0}
    rows = [{**own, "request_id": f"c1-{i}", "ts_ns": 2 * S + i * every} for i in range(n)]
    if held:
        rows.append({**own, "request_id": f"c1-{n}", "ts_ns": 3 * S + n * every, "broker_us": wait_ms * 1_000 + 900})
    return {"clients": [ONE], "connections": [{"conn_id": "c1"}], "requests": rows}


def gets_no_watermark(n: int, **answer: Any) -> dict[str, Any]:
    """A consumer whose Fetch brings neither records nor a high watermark
    (https://github.com/streamnative/kop/issues/1415). answer: what each response says besides."""
    own = {**ANSWER, "conn_id": "c1", "n_records": 0, "high_watermark": None, "preferred_read_replica": None}
    rows = [{**own, "request_id": f"c1-{i}", "ts_ns": (2 + 2 * i) * S, **answer} for i in range(n)]
    return {"clients": [ONE], "connections": [{"conn_id": "c1"}], "partitions": rows}


def has_partitions(name: str, *assigned: list[int], protocol: str = "classic") -> dict[str, Any]:
    """A group whose leader gives its members these partitions
    (https://github.com/aio-libs/aiokafka/issues/1175)."""
    members = [
        {"client_instance_id": f"ci-{i}", "member_id": f"m-{i}", "assigned": [f"{name}-{p}" for p in places]}
        for i, places in enumerate(assigned, 1)
    ]
    settled = {"rebalance_id": "r-1", "group_id": name, "start_ns": 2 * S, "end_ns": 2 * S + MS, "members": members}
    settled |= {"generation": 5, "group_protocol": protocol, "protocol_type": "consumer", "evidence": ["c1-1"]}
    clients = [
        {**ONE, "client_instance_id": f"ci-{i}", "group_id": name, "conn_ids": [f"c{i}"], "last_ns": 9 * S}
        for i in range(1, len(assigned) + 1)
    ]
    connections = [{"conn_id": f"c{i}"} for i in range(1, len(assigned) + 1)]
    return {"clients": clients, "connections": connections, "rebalances": [settled]}


def says_who_it_is(n: int, software_name: str, version: str = "1.0") -> dict[str, Any]:
    """A program whose ApiVersions is refused (https://github.com/redpanda-data/console/issues/390)."""
    own = {"conn_id": "c1", "client_id": "app", "client_ip": "10.0.0.9", "api_key": 18, "api_name": "ApiVersions"}
    own |= {"status": "ok", "error_name": "INVALID_REQUEST", "error_code": 42}
    own |= {"software_name": software_name, "software_version": version}
    rows = [{**own, "request_id": f"c1-{i}", "ts_ns": (2 + i) * S} for i in range(n)]
    return {"clients": [{**ONE, "kind": "unknown"}], "connections": [{"conn_id": "c1"}], "requests": rows}


def asks_for_all_topics(n: int, *, every_s: int = 2, n_bytes: int = 400_000) -> dict[str, Any]:
    """An exporter of metrics (https://github.com/danielqsj/kafka_exporter/issues/74)."""
    own = {"conn_id": "c1", "client_ip": "10.0.0.9", "response_bytes": n_bytes, "broker_us": 700_000}
    rows = [{**own, "request_id": f"c1-{i}", "ts_ns": (2 + i * every_s) * S} for i in range(n)]
    return {"clients": [{**ONE, "kind": "unknown"}], "connections": [{"conn_id": "c1"}], "requests": rows}


def gives_up_tls(n: int, *, patience_ms: int = 1_000, took_ms: int | None = 1_300) -> dict[str, Any]:
    """A kafkajs client whose timeout has the TLS handshake in it (https://github.com/tulios/kafkajs/issues/931).
    took_ms: how long another's handshake took; None: those of this client were over."""
    tls = {"protocol": "tls", "tls_ja4": "t12d1516h2_acb858a92679_e5728521abd4", "claimed_requests": 0}
    done = {"tls_handshake_us": 900_000} if took_ms is None else {}
    connections = []
    for i in range(1, n + 1):
        begin = (2 + 2 * i) * S
        times = {"first_ns": begin, "close_ns": begin + patience_ms * MS, "last_ns": begin + 1_400 * MS}
        connections.append({**tls, **done, **times, "conn_id": f"c{i}"})
    other = {**tls, "conn_id": "c99", "client_ip": "10.0.0.8", "close_kind": "open"}
    connections.append({**other, "tls_handshake_us": (took_ms or 900) * 1_000})
    return {"connections": connections}


def cut_at_size(n: int, *, answered: int = 200_000, status: str = "unanswered") -> dict[str, Any]:
    """Connections that a server resets in the middle of a Produce of 1.2 MB
    (https://github.com/Azure/azure-event-hubs-for-kafka/issues/255). answered: the size of one that it answers."""
    connections, requests = [], []
    produce = {"api_key": 0, "api_name": "Produce", "server_ip": "10.0.0.1", "server_port": 9092}
    for i in range(n):
        at = (2 + 5 * i) * S
        ends = {"first_ns": at, "close_ns": at + 9 * MS, "last_ns": at + 9 * MS, "close_kind": "rst_server"}
        connections.append({"conn_id": f"c{10 + i}", **ends})
        own = {"conn_id": f"c{10 + i}", "request_id": f"c{10 + i}-1", "ts_ns": at, "status": status}
        requests.append({**produce, **own, "request_bytes": 1_200_000})
    connections.append({"conn_id": "c2"})
    requests.append({**produce, "conn_id": "c2", "request_id": "c2-1", "ts_ns": 4 * S, "request_bytes": answered})
    who = {**ONE, "conn_ids": [row["conn_id"] for row in connections]}
    return {"clients": [who], "connections": connections, "requests": requests}


def commits_and_begins(group: str, *commits: int, begins: int, fetches: int | None = None) -> dict[str, Any]:
    """A member that commits these offsets of a topic-partition, one a second, and another that is given an offset of
    the group later and begins there (https://github.com/spring-projects/spring-kafka/issues/3186,
    https://github.com/streamnative/kop/issues/1289). fetches: offset that the first one fetches before its last
    commit."""
    place = {"topic": group, "partition": 0}
    requests, rows = [], []

    def asks(conn_id: str, number: int, api_key: int, at: int, direction: str, offset: int) -> None:
        own = {"request_id": f"{conn_id}-{number}", "conn_id": conn_id, "api_key": api_key, "ts_ns": at}
        done = {"status": "ok", "n_errors": 0, "response_ns": at + MS, "generation_or_epoch": 5}
        requests.append({**own, **done, "group_id": group})
        error = {} if direction == "request" else {"error_code": 0}
        rows.append({**place, **own, **error, "direction": direction, "partition_offset": offset})

    for i, offset in enumerate(commits):
        asks("c1", i, 8, (2 + i) * S, "request", offset)
    if fetches is not None:
        asks("c1", 90, 1, (1 + len(commits)) * S - MS, "request", fetches)
    asks("c2", 0, 9, 20 * S, "response", begins)
    asks("c2", 1, 1, 20 * S + 10 * MS, "request", begins)
    two = {**ONE, "client_instance_id": "ci-2", "client_id": "other", "conn_ids": ["c2"], "group_id": group}
    flow = {**place, "group_id": group, "ts_ns": 2 * S, "slice_ms": 1_000, "n_records": 0, "n_fetched_again": 9}
    return {
        "clients": [{**ONE, "conn_ids": ["c1"], "group_id": group}, two],
        "connections": [{"conn_id": "c1"}, {"conn_id": "c2"}],
        "requests": requests,
        "partitions": rows,
        "partition_flow": [flow],
    }


def accepts_at(n: int, *offsets: int) -> dict[str, Any]:
    """A producer whose batches are accepted, each with the offset -1, besides others
    (https://github.com/streamnative/kop/issues/230)."""
    own = {"conn_id": "c1", "api_key": 0, "direction": "response", "topic": "t", "partition": 0, "error_code": 0}
    rows = [
        {**own, "request_id": f"c1-{i}", "ts_ns": (2 + i) * S, "partition_offset": offset}
        for i, offset in enumerate((*[-1] * n, *offsets))
    ]
    return {"clients": [{**ONE, "kind": "producer"}], "connections": [{"conn_id": "c1"}], "partitions": rows}


def joins_for_each_call(group: str, n: int, *, every_s: int = 5, alone: bool = False) -> dict[str, Any]:
    """Consumers of one host that join a group and leave it, one after the other, each with a client id of its own
    (https://github.com/confluentinc/kafka-rest/issues/84). alone: no other member is in the group meanwhile."""
    clients, connections = [], []
    for i in range(n):
        times = {"first_ns": (2 + i * every_s) * S, "last_ns": (3 + i * every_s) * S}
        own = {"client_instance_id": f"ci-{i}", "client_id": f"{group}-{i}", "conn_ids": [f"c{i}"], **times}
        clients.append({**ONE, **own, "group_id": group, "end_state": "closed"})
        connections.append({"conn_id": f"c{i}"})
    if not alone:
        times = {"first_ns": S, "last_ns": (9 + n * every_s) * S, "end_state": "open"}
        clients.append({**ONE, **times, "client_instance_id": "ci-99", "conn_ids": ["c99"], "group_id": group})
        connections.append({"conn_id": "c99"})
    return {"clients": clients, "connections": connections}


def reads_of_another(name: str, *, asks: int = 20, from_s: int = 15) -> dict[str, Any]:
    """A member that goes on fetching a partition which the last generation gives to another one
    (https://github.com/dpkp/kafka-python/issues/1880). asks: number of its Fetch requests, one a second."""
    rows = [
        {
            "conn_id": conn_id,
            "api_key": 1,
            "direction": "request",
            "topic": name,
            "partition": 0,
            "request_id": f"{conn_id}-{i}",
            "ts_ns": (from_s + i) * S,
            "partition_offset": 9 + i,
        }
        for conn_id, n in (("c1", asks), ("c2", 20))
        for i in range(n)
    ]
    rows_of_group = has_partitions(name, [], [0])
    rows_of_group["clients"] = [{**each, "identity": "sole", "last_ns": 60 * S} for each in rows_of_group["clients"]]
    return {**rows_of_group, "partitions": rows}


def goes_on(requests: list[dict[str, Any]], group: str) -> dict[str, Any]:
    """A consumer of a group that sends these requests."""
    who = {**ONE, "identity": "sole", "conn_ids": ["c1"], "group_id": group, "kind": "consumer"}
    rows = [{**each, "request_id": f"c1-{i}", "conn_id": "c1"} for i, each in enumerate(requests)]
    return {"clients": [who], "connections": [{"conn_id": "c1", "close_kind": "open"}], "requests": rows}


def stops_beating(group: str, *, for_s: int = 60, error: str | None = None, last: str = "Heartbeat") -> dict[str, Any]:
    """A member that sends heartbeats, then none for so long, and Fetch each second
    (https://github.com/redpanda-data/connect/issues/433, https://github.com/aio-libs/aiokafka/issues/1187).
    error, last: error of the last response, and request that it answers."""
    own = {"group_id": group, "status": "ok", "generation_or_epoch": 3}
    beats = [{**own, "api_name": "Heartbeat", "api_key": 12, "ts_ns": (2 + 3 * i) * S} for i in range(8)]
    beats.append({**own, "api_name": last, "ts_ns": 26 * S, "error_name": error or "NONE"})
    fetches = [{"api_name": "Fetch", "api_key": 1, "ts_ns": (2 + i) * S + MS} for i in range(24 + for_s)]
    return goes_on([*beats, *fetches], group)


def stops_committing(group: str, *, for_s: int = 60, n_records: int = 10, every_s: int = 5) -> dict[str, Any]:
    """A consumer that commits six times, then never for so long, and gets records each second
    (https://github.com/dpkp/kafka-python/issues/833). n_records: those of a response after the last commit."""
    own = {"group_id": group, "api_name": "OffsetCommit", "api_key": 8, "status": "ok"}
    commits = [{**own, "ts_ns": (2 + every_s * i) * S} for i in range(6)]
    until = 5 * every_s
    fetches = [
        {"api_name": "Fetch", "api_key": 1, "ts_ns": (2 + i) * S + MS, "n_records": 10 if i < until else n_records}
        for i in range(until + for_s)
    ]
    return goes_on([*commits, *fetches], group)


def waits_beyond(n: int, *, offset: int = 900, end: int = 500, then: int | None = None) -> dict[str, Any]:
    """A consumer that asks for an offset of a log that ends before it
    (https://github.com/redpanda-data/redpanda/issues/4589). then: end of the log in the last response."""
    rows = []
    for i in range(n):
        own = {"conn_id": "c1", "request_id": f"c1-{i}", "topic": "t", "partition": 0, "api_key": 1}
        high = then if then is not None and i == n - 1 else end + i
        rows.append({**own, "direction": "request", "ts_ns": (2 + i) * S, "partition_offset": offset})
        rows.append(
            {**own, "direction": "response", "ts_ns": (2 + i) * S + MS, "high_watermark": high, "error_code": 0}
        )
    return {"clients": [{**ONE, "conn_ids": ["c1"]}], "connections": [{"conn_id": "c1"}], "partitions": rows}


def gets_again(n: int, *, times: int = 3) -> dict[str, Any]:
    """A consumer that gets these batches of ten records, each of them several times
    (https://github.com/akka/alpakka-kafka/issues/549)."""
    got = {**ANSWER, "conn_id": "c1", "n_records": 10, "n_batches": 1, "record_bytes": 1_000, "codec": "lz4"}
    rows = [
        {**got, "request_id": f"c1-{i}", "ts_ns": (2 + i) * S, "first_offset": first, "last_offset": first + 9}
        for i in range(n * times)
        for first in [10 * (i // times)]
    ]
    return {"clients": [{**ONE, "conn_ids": ["c1"]}], "connections": [{"conn_id": "c1"}], "partitions": rows}


def is_told(topic: str, *responses: dict[int, int], every_s: int = 3, refused: int = 0) -> dict[str, Any]:
    """A client that gets these Metadata responses, the leader of each partition, and whose Produce for the first one is
    refused so often (https://github.com/redpanda-data/redpanda/pull/31668, https://github.com/kafka4beam/wolff/pull/98)."""
    own = {"conn_id": "c1", "cluster": "k", "topic": topic, "api_key": 3, "direction": "response", "leader_epoch": 5}
    rows = [
        {**own, "request_id": f"c1-{i}", "ts_ns": (2 + every_s * i) * S, "partition": partition, "leader_id": leader}
        for i, leaders in enumerate(responses)
        for partition, leader in leaders.items()
    ]
    produce = {**own, "api_key": 0, "partition": 0, "error_code": 6}
    rows += [{**produce, "request_id": f"c1-p{i}", "ts_ns": (3 + every_s * i) * S} for i in range(refused)]
    return {"clients": [{**ONE, "conn_ids": ["c1"]}], "connections": [{"conn_id": "c1"}], "partitions": rows}


REPORTED_CASES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "sent to its preferred replica again and again": (sent_away(6), {"preferred_replica_loop"}),
    "sent there, and never goes": (sent_away(6, reads=False), {"preferred_replica_loop"}),
    "sent there after each metadata.max.age.ms": (sent_away(6, every_s=300), set()),
    "sent there some times": (sent_away(4), set()),
    "one Fetch a second, and falls behind": (paced(25), {"paced_fetches"}),
    "one Fetch a second, and keeps up": (paced(25, produced=24), set()),
    "asks at once, and falls behind": (paced(25, pause_ms=20), set()),
    "uses no fetch session that it gets": (begins_sessions(12, 71, given=7), {"fetch_session_churn"}),
    "gets no fetch session": (begins_sessions(12, 72), {"fetch_session_churn"}),
    "loses each fetch session": (begins_sessions(12, 73, given=7, error_code=70), {"fetch_session_churn"}),
    "is held for a megabyte": (holds(4), {"held_for_min_bytes"}),
    "is held for a byte": (holds(4, min_bytes=1), set()),
    "is held for half a second": (holds(4, wait_ms=500), set()),
    "commits by turns with another": (commits_by_turns(6), {"competing_commits"}),
    "commits after another": (commits_by_turns(6, step=5), set()),
    "commits by turns as a member": (commits_by_turns(6, generation=4), set()),
    "a broker of another cluster": (refused_broker(4), {"registration_refused"}),
    "a broker that is let in at last": (refused_broker(4, error="DUPLICATE_BROKER_REGISTRATION", let_in=True), set()),
    "a broker that is refused twice": (refused_broker(2), set()),
    "stays fenced": (heartbeats(31, 12), {"broker_stays_fenced"}),
    "is fenced until it is let in": (heartbeats(32, 12, let_in=True), set()),
    "is fenced for a moment": (heartbeats(33, 6), set()),
    "is not fenced": (heartbeats(34, 12, fenced=False), set()),
    "elect no controller": (votes(12), {"no_controller_elected"}),
    "elect a controller at last": (votes(12, led_s=40), set()),
    "ask for votes in one round": (votes(6), set()),
    "is answered at once": (answered_at_once(250), {"fetches_not_held"}),
    "asks for no byte at least": (answered_at_once(250, min_bytes=0, held=True), {"fetches_not_held"}),
    "gets no high watermark": (gets_no_watermark(12), {"fetch_without_watermark"}),
    "gets a high watermark": (gets_no_watermark(12, high_watermark=7), set()),
    "is sent to a replica without one": (gets_no_watermark(4, preferred_read_replica=3), set()),
    "gets no high watermark for a moment": (gets_no_watermark(4), set()),
    "a partition of two members": (has_partitions("twice1", [0, 1], [1]), {"assigned_twice"}),
    "a partition for each member": (has_partitions("twice2", [0], [1]), set()),
    "a partition that another member reads on": (reads_of_another("reads1"), {"assigned_twice"}),
    "a partition that another member read for a moment": (reads_of_another("reads2", asks=4, from_s=3), set()),
    "reads on without heartbeats": (stops_beating("beats1"), {"member_stops"}),
    "reads on without heartbeats within its session": (stops_beating("beats2", for_s=30), set()),
    "was to join again, and does not": (
        stops_beating("beats3", for_s=30, error="REBALANCE_IN_PROGRESS"),
        {"member_stops"},
    ),
    "leaves its group, and reads on": (stops_beating("beats4", last="LeaveGroup"), set()),
    "looks for its coordinator, and reads on": (stops_beating("beats5", last="FindCoordinator"), set()),
    "reads on without commits": (stops_committing("commits1"), {"member_stops"}),
    "reads on without commits for a pause": (stops_committing("commits2", for_s=20), set()),
    "gets a few records, and does not commit": (stops_committing("commits3", n_records=1), set()),
    "commits seldom": (stops_committing("commits4", every_s=20), set()),
    "waits beyond the end": (waits_beyond(14), {"position_beyond_end"}),
    "waits beyond the end for a moment": (waits_beyond(9), set()),
    "waits at the end": (waits_beyond(14, offset=513), set()),
    "waits beyond the end until the log gets there": (waits_beyond(14, then=900), set()),
    "gets each batch three times": (gets_again(8), {"received_again"}),
    "gets a few batches three times": (gets_again(4), set()),
    "gets each batch once": (gets_again(20, times=1), set()),
    "is told two leaders by turns": (is_told("t1", *[{0: 1}, {0: 2}] * 2, refused=3), {"metadata_contradicts"}),
    "is told leaders by turns that all serve": (is_told("t6", *[{0: 1}, {0: 2}] * 2), set()),
    "is told another leader": (is_told("t2", *[{0: 1}] * 4, *[{0: 2}] * 4), set()),
    "is not told a partition": (
        is_told("t3", {0: 1, 1: 2}, *[{0: 1}] * 5, {0: 1, 1: 2}),
        {"metadata_contradicts"},
    ),
    "is not told a partition any more": (is_told("t4", {0: 1, 1: 2}, *[{0: 1}] * 6), set()),
    "is told of a new partition": (is_told("t5", *[{0: 1}] * 4, *[{0: 1, 1: 2}] * 4), set()),
    "a partition of two members that share": (has_partitions("twice3", [0], [0], protocol="share"), set()),
    "sets its group back": (commits_and_begins("back1", 30, 60, 40, begins=40), {"committed_offset_back"}),
    "is given an older offset": (commits_and_begins("back2", 30, 60, begins=30), {"committed_offset_back"}),
    "is given the last offset": (commits_and_begins("back3", 30, 60, begins=60), set()),
    "goes back on purpose": (commits_and_begins("back4", 30, 60, 40, begins=40, fetches=35), set()),
    "learns no offset of its records": (accepts_at(12), {"produce_without_offset"}),
    "learns one offset of its records": (accepts_at(12, 7), set()),
    "joins for each call": (joins_for_each_call("calls1", 9), {"short_lived_clients"}),
    "joins for each call, with nobody else": (joins_for_each_call("calls2", 9, alone=True), set()),
    "joins now and then": (joins_for_each_call("calls3", 9, every_s=60), set()),
    "has a blank in its name": (says_who_it_is(3, "RP Console"), {"software_name_refused"}),
    "has no version": (says_who_it_is(3, "sarama", ""), {"software_name_refused"}),
    "has a name that brokers accept": (says_who_it_is(3, "apache-kafka-java"), set()),
    "has a blank in its name once": (says_who_it_is(1, "RP Console"), set()),
    "is answered at once by a server that holds others": (answered_at_once(250, held=True), set()),
    "is answered after its wait": (answered_at_once(250, took_us=500_000), set()),
    "asks not to wait": (answered_at_once(250, wait_ms=5), set()),
    "asks for all topics": (asks_for_all_topics(8), {"large_metadata"}),
    "asks for all topics once a minute": (asks_for_all_topics(8, every_s=60), set()),
    "asks for its own topics": (asks_for_all_topics(8, n_bytes=9_000), set()),
    "gives up its TLS handshake": (gives_up_tls(4), {"gave_up_too_soon"}),
    "gives up its TLS handshake at once": (gives_up_tls(4, patience_ms=90), set()),
    "closes after its TLS handshake": (gives_up_tls(4, took_ms=None), set()),
    "cut at its size": (cut_at_size(4), {"closed_at_large_requests"}),
    "cut, and a larger one is answered": (cut_at_size(4, answered=2_000_000), set()),
    "cut twice": (cut_at_size(2), set()),
    "cut off while it waits": (cut_off_while_it_waits(4), {"cut_while_waiting"}),
    "cut off at any time": (cut_off_while_it_waits(4, spread_ms=2_000), set()),
    "cut off when it need not wait any more": (cut_off_while_it_waits(4, wait_ms=40_000), set()),
    "no answer to its hello": (says_hello(4), {"hello_not_answered"}),
    "no answer to its hello, others are": (says_hello(4, others=4), set()),
    "no answer to its hello, nor to others": (says_hello(4, others=None), set()),
    "a partition that nobody has": (partitions_of("grown0", 2), {"unassigned_partitions"}),
    "all partitions have a member": (partitions_of("grown1", 3, fetched=True), set()),
    "a partition that a member not seen may have": (partitions_of("grown2", 2, complete=False), set()),
    "a partition that a client of the group reads": (partitions_of("grown3", 2, fetched=True), set()),
    "begins anew after it used its fetch session": (begins_sessions(40, 74, given=7, uses=3), set()),
    "sent to a replica that is behind": (sent_away(6, refused=True), {"preferred_replica_loop"}),
    "gets nothing of what is in the log": (gets_nothing(25), {"same_offset_again"}),
    "is sent to another replica each time": (gets_nothing(25, preferred_read_replica=3), {"preferred_replica_loop"}),
    "begins at the latest offset after an error": (begins_anew(-1, 60, "p1", committed=20), {"unknown_position"}),
    "begins there, and nobody committed": (begins_anew(-1, 60, "p2", written=12), {"unknown_position"}),
    "begins at the earliest offset after an error": (begins_anew(-2, 0, "p3", committed=20), {"unknown_position"}),
    "begins behind the first records of a new partition": (learns_of_a_partition("n1", 4), {"skipped_new_partition"}),
    "begins at the first record of a new partition": (learns_of_a_partition("n2", 0), set()),
    "a partition that had records before": (learns_of_a_partition("n3", 40, written=36), set()),
    "a topic that the group did not read before": (learns_of_a_partition("n4", 4, reads_before=False), set()),
    "a member that joins gets a new partition": (learns_of_a_partition("n5", 4, trigger="member_joined"), set()),
    "does not read its connection in time": (reads_late(12), {"zero_window"}),
    "reads late a few times": (reads_late(8), set()),
    "reads a moment late each time": (reads_late(40, closed_ms=20), set()),
    "a server that reads late": (reads_late(12, side="server"), set()),
    "never joins with its member id": (asked_for_ids(6), {"member_id_ignored"}),
    "joins with its member id at last": (asked_for_ids(6, joined=True), set()),
    "asks for a member id twice": (asked_for_ids(2), set()),
    "refused by a policy": (refused_topics(3, message="Replication factor must be 3"), {"admin_refused"}),
    "a topic that there is already": (refused_topics(3, "TOPIC_ALREADY_EXISTS"), set()),
    "waits for old records": (reads_old(6, 81), {"late_fetches"}),
    "waits for old records as others wait": (reads_old(6, 82, others_ms=3_000), set()),
    "waits for old records for as long as it asks": (reads_old(6, 83, took_ms=600), set()),
    "goes on with a fetch session that is over": (no_such_session(12), {"same_error_again"}),
    "begins a new fetch session after each error": (no_such_session(12, begins_anew=True), set()),
    "loses a fetch session now and then": (no_such_session(3), set()),
    "asks a broker that is not the controller": (asks_another_broker(4), {"same_error_again"}),
    "reaches the controller in between": (asks_another_broker(4, lands=True), set()),
    "cut off at a version that the broker has not": (cut_off(4, others=5), {"closed_at_request"}),
    "cut off, and another is answered in that version": (cut_off(4, others=7, offered=11), set()),
    "turned away before the request is read": (cut_off(4, close_kind="rst_server", others=5), set()),
    "is given a controller": (leaves_a_controller(4), {"bootstrap_at_controller"}),
    "is given a controller twice": (leaves_a_controller(2), set()),
    "says hello to a broker": (leaves_a_controller(4, offers="Metadata:0-13"), set()),
    "gives up before the answer": (gives_up(4), {"gave_up_too_soon"}),
    "closes after each answer": (gives_up(4, patience_ms=900), set()),
    "gives up once": (gives_up(1), set()),
    "written, refused, and written again": (appended("w1", 110), {"written_twice", "not_enough_replicas"}),
    "written, refused, and recognized": (appended("w2", 105), {"not_enough_replicas"}),
    "acknowledges after its lock": (late_for_its_lock(), {"late_acknowledgements"}),
    "acknowledges in a lost session": (late_for_its_lock("SHARE_SESSION_NOT_FOUND"), set()),
    "sends Fetch while it authenticates": (between_handshakes(2), {"login_interrupted"}),
    "sends Fetch, and is closed": (between_handshakes(2, after="Heartbeat"), set()),
    "asks again after an error": (begins_anew(-1, 60, "p4", committed=20, asks_again=True), set()),
}
REPORTED_SENTENCES = {
    "a partition that another member reads on": "reads1-0, which is assigned to",
    "was to join again, and does not": "REBALANCE_IN_PROGRESS, and none in the 29.0 s after it",
    "reads on without commits": "committed offsets of group commits1 6 times, at most 5.00 s apart",
    "gets each batch three times": "in 16 of 24 Fetch responses with records (15.6 KiB of 23.4 KiB)",
    "waits beyond the end": "offset 900 of t-0, 14 times in 13.0 s",
    "is told two leaders by turns": "names node 1 (2 responses)",
    "is not told a partition": "lacks t3-1 in 5 responses",
    "is held for a megabyte": "it asks for 1000000 bytes at least, and there were 300 at most",
    "commits by turns with another": "one of them set the offset back from that of the other, by up to 410 records",
    "a broker of another cluster": "4 times (INCONSISTENT_CLUSTER_ID: it is of another cluster)",
    "stays fenced": "that it had read did not move, while another broker was at 5000",
    "elect no controller": "1 controller (10.0.0.31) asked for votes 12 times from",
    "is answered at once": "without records after 1.00 ms (median)",
    "asks for no byte at least": "each Fetch says with min_bytes 0 that an answer without records will do",
    "gets no high watermark": "12 Fetch of app (10.0.",
    "a partition of two members": "twice1-1 is assigned to more than one member of group twice1 in generation 5",
    "sets its group back": "committed offset 60 of back1-0 for group back1 at ",
    "is given an older offset": "asked for it later, the coordinator returned 30.",
    "learns no offset of its records": "and returned the offset -1 for each",
    "joins for each call": "1 other member had to rebalance with each that came or left",
    "has a blank in its name": "got INVALID_REQUEST for ApiVersions 3 times",
    "has no version": "do not accept its software version ''",
    "asks for all topics": "one time in 2.00 s, and got 400 kB each time",
    "gives up its TLS handshake": "1.00 s (median) after it had opened them",
    "cut at its size": "each at a Produce of 1200000 bytes or more, which it did not answer",
    "cut off while it waits": "each 50.0 s after a Fetch that may wait for 60000 ms",
    "no answer to its hello": "never answered ApiVersions v4 on them, 4 times",
    "a partition that nobody has": "grown0-2 is assigned to none of the 1 member of group grown0",
    "goes on with a fetch session that is over": "12 times within 22.0 s from 00:01.000",
    "asks a broker that is not the controller": "only the controller does that, and Metadata names node 93 as the",
    "cut off at a version that the broker has not": "it takes Produce v0 to v5, as it says in ApiVersions",
    "gives up before the answer": "500 ms (median) after Produce",
    "acknowledges after its lock": "it had them for 40.0 s (median), and its lock on them, which lasts 30.0 s, was",
    "sends Fetch while it authenticates": "between its SaslHandshake and the end of its authentication while it",
    "sent to its preferred replica again and again": "t-0 at its leader, node 1, 6 times from ",
    "sent to a replica that is behind": "There it got OFFSET_OUT_OF_RANGE 5 times",
    "gets nothing of what is in the log": "no answer brought a record, each after at most 500 ms",
    "sent there, and never goes": "It got no records from node 3 meanwhile",
    "one Fetch a second, and falls behind": "It asks for more 1.00 s after each response (median, all equally long)",
    "uses no fetch session that it gets": "12 times within 11.0 s from 00:01.000 (00:00:02.000 UTC): it got one, did",
    "gets no fetch session": "it gave them none that lasts",
    "loses each fetch session": "it gave them none that lasts",
    "begins at the latest offset after an error": "It skipped 40 records after the last commit of the group",
    "begins there, and nobody committed": "48 records of this capture among it",
    "begins behind the first records of a new partition": "skipped 4 records of the new partitions n1-1",
    "never joins with its member id": "sent JoinGroup without one again",
    "waits for old records": "Broker 81 took 4.00 s (median) for 6 of 6 Fetch with records of app",
    "refused by a policy": 'The broker said: "Replication factor must be 3"',
    "begins at the earliest offset after an error": "It reads again 20 records that the group had committed",
}
"""What the sentence of the finding of a case must say."""
