"""Each rule about clients on rows made by hand: what it must find, and the nearest in which it must find nothing."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

pytestmark = pytest.mark.spark

S = 1_000_000_000
Rows = dict[str, Any]
ONE: Rows = {"client_instance_id": "ci-1", "client_id": "app", "conn_ids": ["c1"], "group_id": "g"}
ONE |= {"first_ns": S, "last_ns": 60 * S}
TWO = {**ONE, "client_instance_id": "ci-2", "client_id": "other", "conn_ids": ["c2"]}
BROKER = {"client_instance_id": "ci-3", "client_id": "2", "kind": "broker", "conn_ids": ["c3"]}
PRODUCE, FETCH, LIST_OFFSETS, JOIN, HEARTBEAT, LEAVE, SYNC, INIT = 0, 1, 2, 11, 12, 13, 14, 22


def at(second: float, number: int = 1, conn: str = "c1") -> Rows:
    """Ids and time of a request or of the error in its answer."""
    ns = int(second * S)
    return {"request_id": f"{conn}-{number}", "conn_id": conn, "ts_ns": ns, "ts": ns // 1_000}


def error(name: str, second: float, api: int, number: int = 1, conn: str = "c1", **changes: Any) -> Rows:
    who = {"client_ip": "10.0.0.9", "client_id": "app", "node_id": 1}
    return {**at(second, number, conn), **who, "error_name": name, "api_key": api, "api_name": str(api), **changes}


def call(second: float, api: int, number: int, conn: str = "c1", **changes: Any) -> Rows:
    return {**at(second, number, conn), "api_key": api, "api_name": str(api), "node_id": 1, **changes}


def loading(seconds: list[float], **changes: Any) -> Rows:
    errors = [
        error("COORDINATOR_LOAD_IN_PROGRESS", second, JOIN, number, **{"group_id": "g", **changes})
        for number, second in enumerate(seconds)
    ]
    return {"clients": [ONE], "errors": errors}


def thrown_out(last_success_s: float, refused_s: float, *between: Rows, api: int = HEARTBEAT, **changes: Any) -> Rows:
    """A member of a group with a session timeout of 5 s, successful last at one time and refused at another."""
    refused: Rows = {"group_id": "g", "member_id": "m", "error_name": "UNKNOWN_MEMBER_ID", "error_code": 25}
    calls = [
        call(last_success_s, HEARTBEAT, 1, group_id="g", member_id="m", generation_or_epoch=3, error_name="NONE"),
        *between,
        call(refused_s, api, 9, **refused),
    ]
    join = {**at(2, 0), "group_id": "g", "session_timeout_ms": 5_000, "rebalance_timeout_ms": 300_000}
    return {
        "clients": [{**ONE, "member_ids": ["m"], **changes}],
        "errors": [error("UNKNOWN_MEMBER_ID", refused_s + 0.001, api, 9, group_id="g")],
        "requests": calls,
        "messages/JoinGroup/request": [join],
    }


def started(n: int, *, apart_s: float, lasts_s: float) -> Rows:
    """So many clients of one program, one after the other, with a request each."""
    clients, calls = [], []
    for number in range(n):
        begin_s = 1 + number * apart_s
        own = {"client_instance_id": f"ci-{number}", "conn_ids": [f"c{number}"], "kind": "admin", "end_state": "closed"}
        times = {"first_ns": int(begin_s * S), "last_ns": int((begin_s + lasts_s) * S)}
        clients.append({**ONE, **own, **times, "group_id": None, "n_requests": 1})
        calls.append(call(begin_s, 60, 1, f"c{number}"))
    return {"clients": clients, "requests": calls}


def asked_offset(timestamp: int) -> Rows:
    return {"name": "t", "partitions": [{"partition_index": 0, "timestamp": timestamp}]}


def outside(old: int, new: int, policy: int = -2, listed: str = "c1") -> Rows:
    """A Fetch at an offset outside the log, and ListOffsets on a connection after it."""
    place: Rows = {"topic": "t", "partition": 0}
    fetch, found = {**at(3, 1), **place, "api_key": FETCH}, {**at(3.1, 2, listed), **place, "api_key": LIST_OFFSETS}
    asked = {"request_id": f"{listed}-2", "topics": [asked_offset(policy)]}
    return {
        "clients": [ONE, TWO],
        "errors": [error("OFFSET_OUT_OF_RANGE", 3, FETCH, **place)],
        "partitions": [
            {**fetch, "direction": "request", "partition_offset": old},
            {**fetch, "direction": "response", "error_code": 1},
            {**found, "direction": "response", "partition_offset": new, "error_code": 0},
        ],
        "messages/ListOffsets/request": [asked],
    }


def taken(name: str, rival: Rows | None) -> Rows:
    mine = {**ONE, "group_instance_id": "node-1"}
    rivals = [] if rival is None else [{**TWO, "group_instance_id": "node-1", **rival}]
    return {"clients": [mine, *rivals], "errors": [error(name, 20, HEARTBEAT, group_id="g")]}


def throttles(ms: int, conn: str = "c1") -> Rows:
    calls = [call(2 + i, PRODUCE, i, conn, throttle_ms=ms, record_bytes=1_000) for i in range(4)]
    return {"clients": [ONE, BROKER], "requests": [{**row, "api_name": "Produce"} for row in calls]}


def produces(n: int, every_s: float, n_bytes: int, codec: str = "none", acks: int = -1) -> Rows:
    """Requests of two records in one batch each."""
    requests, batches = [], []
    for i in range(n):
        status = "no_response_expected" if acks == 0 else "ok"
        counts: Rows = {"n_partitions": 1, "n_records": 2, "record_bytes": n_bytes, "acks": acks, "status": status}
        requests.append({**call(2 + i * every_s, PRODUCE, i, **counts), "api_name": "Produce"})
        batch = {"api_key": PRODUCE, "direction": "request", "topic": "t", "codec": codec, "bytes": n_bytes}
        batches.append({**at(2 + i * every_s, i), **batch, "n_records": 2})
    known = [
        {"kind": "broker", "node_id": node, "request_id": "c1-0", "conn_id": "c1", "ts_ns": S} for node in (1, 2, 3)
    ]
    life = {"conn_id": "c1", "n_requests": n, "first_ns": 2 * S, "last_ns": int((2 + n * every_s) * S)}
    tables = {"clients": [{**ONE, "kind": "producer"}], "connections": [life], "requests": requests}
    return {**tables, "record_batches": batches, "topology": known}


def fetches(n: int, every_s: float, n_records: int, epoch: int | None = None) -> Rows:
    terms: Rows = {"max_wait_ms": 5, "min_bytes": 1, "n_records": n_records, "fetch_session_epoch": epoch}
    calls = [{**call(2 + i * every_s, FETCH, i, **terms), "api_name": "Fetch"} for i in range(n)]
    life = {"n_requests": n, "first_ns": 2 * S, "last_ns": int((2 + n * every_s) * S)}
    return {"clients": [{**ONE, **life}], "requests": calls}


def generations(n: int, every_s: float, *clients: Rows) -> Rows:
    calls = [call(10 + i * every_s, SYNC, i, group_id="g", generation_or_epoch=i + 1) for i in range(n)]
    return {"clients": list(clients), "requests": calls}


def missing(n: int, every_s: float, kind: str = "producer", name: str = "UNKNOWN_TOPIC_OR_PARTITION") -> Rows:
    errors = [error(name, 2 + i * every_s, 3, i, topic="t") for i in range(n)]
    return {"clients": [{**ONE, "kind": kind}], "errors": errors}


def in_flight(p50: int, n: int = 200) -> Rows:
    loop = {"client_instance_id": "ci-1", "conn_id": "c1", "cadence": "in_flight", "n": n, "p50_ms": p50, "max_ms": 9}
    return {"clients": [ONE], "connections": [{"conn_id": "c1", "max_in_flight": p50 + 4}], "cadences": [loop]}


def slow_polls(*reasons: str | None, joins_again: bool = True) -> Rows:
    """A member that leaves so many times, and joins again after each."""
    leaves = [{**at(10 * i, 2 * i), "group_id": "g", "members": [{"reason": why}]} for i, why in enumerate(reasons, 1)]
    joined = {"group_id": "g", "rebalance_timeout_ms": 4_000, "session_timeout_ms": 3_000}
    joins = [{**at(10 * i + 2, 2 * i + 1), **joined} for i in range(len(reasons) + joins_again)]
    member = {**ONE, "member_ids": ["m1", "m2"]}
    calls = [call(10 * i, LEAVE, 2 * i) for i in range(1, len(reasons) + 1)]
    calls += [call(10 * i + 2, JOIN, 2 * i + 1) for i in range(len(joins))]
    messages = {"messages/LeaveGroup/request": leaves, "messages/JoinGroup/request": joins}
    return {"clients": [member], "requests": calls, **messages}


def departed(how: str, *errors: Rows) -> Rows:
    """A generation without one of the members of the one before."""
    gone = {"client_instance_id": "ci-1", "how": how, "silent_ms": 6_100, "session_timeout_ms": 6_000}
    generation = {"group_id": "g", "trigger": "member_evicted", "start_ns": 20 * S, "evidence": ["c1-7"]}
    departures = [{**gone, "last_seen_ns": 14 * S}]
    return {"clients": [ONE], "rebalances": [{**generation, "departed": departures}], "errors": list(errors)}


RUNS = {"first_ns": 0, "last_ns": 99 * S, "end_state": "open"}
LEFT = call(9, LEAVE, 5, group_id="g")
MOVED = call(9, HEARTBEAT, 5, group_id="g", error_name="NOT_COORDINATOR")
ELSEWHERE = call(9, JOIN, 5, group_id="g", error_name="NONE", node_id=2)
NOT_VERIFIED = "Unable to verify the partition has been added to the transaction. Underlying error: NETWORK_EXCEPTION"
TOO_LARGE: Rows = {"topic": "t", "partition": 0}
SENT = {**at(2), "api_key": PRODUCE, "direction": "request", **TOO_LARGE, "record_bytes": 6_000, "n_records": 1}

CASES: dict[str, tuple[Rows, set[str]]] = {
    "loading for half a second": (loading([2.0, 2.2, 2.5]), {"coordinator_loading"}),
    "loading, asked twice": (loading([2.0, 2.1]), set()),
    "loaded twice, each for a moment": (loading([2.0, 40.0]), set()),
    "no producer ids yet": (loading([2.0, 2.5], group_id=None, api_key=INIT), set()),
    "evicted": (thrown_out(4, 12), {"evicted_member"}),
    "without heartbeats, though it fetches": (thrown_out(4, 12, call(8, FETCH, 5)), {"evicted_member"}),
    "late for its rebalance": (thrown_out(4, 6), {"evicted_member"}),
    "left before": (thrown_out(4, 12, LEFT), set()),
    "coordinator moved": (thrown_out(4, 12, MOVED), set()),
    "other coordinator": (thrown_out(4, 12, ELSEWHERE), set()),
    "joined with an id that was never used": (thrown_out(11, 12, api=JOIN), set()),
    "killed": (departed("evicted"), {"evicted_member"}),
    "closed": (departed("left"), set()),
    "slow polls": (slow_polls(None, None), {"evicted_member"}),
    "slow poll of a Java client": (slow_polls("consumer poll timeout has expired."), {"evicted_member"}),
    "new subscription": (slow_polls(None), set()),
    "new subscriptions, with the reason": (slow_polls(*["the consumer unsubscribed from all topics"] * 3), set()),
    "joins, leaves": (slow_polls(None, joins_again=False), set()),
    "commit of one that is no member": (thrown_out(4, 12, member_ids=[]), set()),
    "reset to the beginning": (outside(100, 140), {"offset_reset"}),
    "reset back": (outside(380, 0, -1), {"offset_reset"}),
    "lagging follower": (outside(100, 140, listed="c2"), set()),
    "static conflict": (taken("FENCED_INSTANCE_ID", {}), {"static_member_conflict"}),
    "static member seen twice": (taken("UNRELEASED_INSTANCE_ID", {"last_ns": 5 * S}), {"static_member_conflict"}),
    "throttled": (throttles(400), {"throttled"}),
    "throttled for a moment": (throttles(20), {"throttled"}),
    "throttled broker": (throttles(400, conn="c3"), set()),
    "too large": (
        {"clients": [ONE], "errors": [error("MESSAGE_TOO_LARGE", 2, PRODUCE, **TOO_LARGE)], "partitions": [SENT]},
        {"oversize_request"},
    ),
    "out of replicas": (
        {"clients": [ONE], "errors": [error("NOT_ENOUGH_REPLICAS", 2, PRODUCE, topic="t", partition=0)]},
        {"not_enough_replicas"},
    ),
    "a coordinator that could not be asked": (
        {
            "clients": [ONE],
            "errors": [error("NOT_ENOUGH_REPLICAS", 2, PRODUCE, topic="t", partition=0, message=NOT_VERIFIED)],
        },
        {"not_enough_replicas"},
    ),
    "no such topic": (missing(20, 0.5), {"missing_topic"}),
    "no name of a topic": (missing(20, 0.5, name="INVALID_TOPIC_EXCEPTION"), {"missing_topic"}),
    "topic is being created": (missing(20, 0.1), set()),
    "admin looks for a topic": (missing(20, 0.5, "admin"), set()),
    "uncompressed": (produces(100, 0.5, 2_000), {"no_compression"}),
    "compressed": (produces(100, 0.5, 2_000, codec="zstd"), set()),
    "uncompressed, but small": (produces(200, 0.05, 500), set()),
    "tiny batches": (produces(200, 0.005, 150), {"tiny_batches"}),
    "slow producer": (produces(150, 0.2, 150), set()),
    "one broker has all": (produces(60, 0.5, 20_000, codec="zstd"), {"leader_skew"}),
    "no acks": (produces(5, 0.5, 150, acks=0), {"acks_zero"}),
    "chatty": (fetches(400, 0.01, 0), {"chatty_client"}),
    "idle": (fetches(300, 0.2, 0), set()),
    "busy": (fetches(400, 0.01, 5), set()),
    "no fetch sessions": (fetches(8, 0.5, 5, epoch=0), {"fetch_session_churn"}),
    "fetch sessions": (fetches(8, 0.5, 5, epoch=7), set()),
    "storm of rebalances": (generations(7, 5, {**ONE, **RUNS, "first_ns": 0}), {"rebalance_storm"}),
    "members come and go": (
        generations(7, 5, {**ONE, **RUNS, "end_state": "closed"}, {**TWO, **RUNS, "first_ns": 12 * S}),
        set(),
    ),
    "a client for each call": (started(30, apart_s=1.0, lasts_s=0.2), {"short_lived_clients"}),
    "a few clients": (started(19, apart_s=1.0, lasts_s=0.2), set()),
    "a probe that asks now and then": (started(30, apart_s=10.0, lasts_s=0.2), set()),
    "clients that stay": (started(30, apart_s=1.0, lasts_s=15.0), set()),
    "in flight": (in_flight(5), {"in_flight_saturated"}),
    "not in flight": (in_flight(4), set()),
}


IDS = {"conn_id", "request_id", "client_instance_id", "client_id", "group_id", "member_id", "topic"}
ALONE = "one broker has all"
"""It is about the sum of all traffic."""


def apart(rows: Rows, number: int) -> Rows:
    """The rows with ids and nodes of their own, so that many cases are one dataset and the rules are asked once."""

    def renamed(name: str, value: Any) -> Any:
        if name == "node_id" and value is not None:
            return number * 10 + value
        if name == "topics":
            return [{**each, "name": f"{number}x{each['name']}"} for each in value]
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return [{key: renamed(key, item) for key, item in each.items()} for each in value]
        if name in ("conn_ids", "member_ids", "evidence"):
            return [f"{number}x{item}" for item in value]
        return f"{number}x{value}" if name in IDS and value is not None else value

    return {
        table: [{name: renamed(name, value) for name, value in row.items()} for row in listed]
        for table, listed in rows.items()
    }


def merge(cases: Mapping[str, Rows]) -> tuple[Rows, dict[int, str]]:
    """The rows of all cases as one dataset; number -> case."""
    merged: dict[str, list[Rows]] = {}
    for number, rows in enumerate(cases.values()):
        for table, listed in apart(rows, number).items():
            merged.setdefault(table, []).extend(listed)
    return merged, dict(enumerate(cases))


def number_of(finding: Rows) -> int:
    """The number of the case whose rows made a finding."""
    return int(finding["evidence"][0].split("x")[0])


@pytest.fixture(scope="module")
def rules_by_case(found_in: Callable[..., Any]) -> dict[str, set[str]]:
    """Case -> the rules that found something in it."""
    merged, numbers = merge({name: rows for name, (rows, _) in CASES.items()})
    merged.pop("topology")
    rules: dict[str, set[str]] = {name: set() for name in CASES}
    for row in found_in(merged):
        rules[numbers[number_of(row)]].add(row["rule"])
    rules[ALONE] = {row["rule"] for row in found_in(CASES[ALONE][0])}
    return rules


@pytest.mark.parametrize("case", CASES)
def test_finds_what_is_there_and_nothing_else(case: str, rules_by_case: dict[str, set[str]]) -> None:
    assert rules_by_case[case] == CASES[case][1]


def looks_up_both_ends(next_fetch: int | None, earliest: int = 0, latest: int = 23) -> Rows:
    """A consumer whose offset 39 is outside the log asks for the log's end, then for its begin, as sarama does, and
    fetches at the one or the other."""
    rows = outside(39, latest, -1)
    place: Rows = {"topic": "t", "partition": 0}
    found = {**at(3.2, 3), **place, "api_key": LIST_OFFSETS, "direction": "response", "error_code": 0}
    rows["partitions"] += [{**found, "partition_offset": earliest}]
    if next_fetch is not None:
        rows["partitions"] += [
            {**at(3.3, 4), **place, "api_key": FETCH, "direction": "request", "partition_offset": next_fetch}
        ]
    asked = {"request_id": "c1-3", "topics": [asked_offset(-2)]}
    return {**rows, "messages/ListOffsets/request": [*rows["messages/ListOffsets/request"], asked]}


def overtaken_twice() -> Rows:
    """Retention overtakes a consumer again before it has fetched anything at its new offset."""
    rows, place = outside(100, 140), {"topic": "t", "partition": 0}
    fetch, found = {**at(4, 5), **place, "api_key": FETCH}, {**at(4.1, 6), **place, "api_key": LIST_OFFSETS}
    rows["errors"] += [error("OFFSET_OUT_OF_RANGE", 4, FETCH, 5, **place)]
    rows["partitions"] += [
        {**fetch, "direction": "request", "partition_offset": 140},
        {**fetch, "direction": "response", "error_code": 1},
        {**found, "direction": "response", "partition_offset": 200, "error_code": 0},
        {**at(4.2, 7), **place, "api_key": FETCH, "direction": "request", "partition_offset": 200},
    ]
    rows["messages/ListOffsets/request"] += [{"request_id": "c1-6", "topics": [asked_offset(-2)]}]
    return rows


LOOKED_UP: dict[str, tuple[Rows, str | None]] = {
    "earliest": (looks_up_both_ends(0), "t-0 went from offset 39 to 0 (earliest)"),
    "latest": (looks_up_both_ends(23), "t-0 went from offset 39 to 23 (latest)"),
    "empty log": (looks_up_both_ends(0, latest=0), "t-0 went from offset 39 to 0; "),
    "the application chose": (looks_up_both_ends(7), "t-0 went from offset 39 to 7; "),
    "overtaken twice": (overtaken_twice(), "t 2 times, first at"),
    "overtaken twice, from where to where": (overtaken_twice(), "t-0 went from offset 100 to 140 (earliest)"),
    "overtaken twice, all that was skipped": (overtaken_twice(), "it never reads 100 records"),
    "asked once, never fetched": (outside(100, 140), "t-0 went from offset 100 to 140 (earliest)"),
    "asked for both ends, never fetched": (looks_up_both_ends(None), None),
}
"""Case -> its rows, and what the finding says; None: there is none."""


@pytest.fixture(scope="module")
def resets_by_case(found_in: Callable[..., Any]) -> dict[str, list[str]]:
    """Case -> the sentences of its findings offset_reset."""
    merged, numbers = merge({name: rows for name, (rows, _) in LOOKED_UP.items()})
    sentences: dict[str, list[str]] = {name: [] for name in LOOKED_UP}
    for row in found_in(merged, ["offset_reset"]):
        sentences[numbers[number_of(row)]].append(row["sentence"])
    return sentences


@pytest.mark.parametrize("case", LOOKED_UP)
def test_the_next_fetch_tells_where_a_consumer_went_on(case: str, resets_by_case: dict[str, list[str]]) -> None:
    _, result = LOOKED_UP[case]
    assert len(resets_by_case[case]) == (result is not None)
    assert all(result is not None and result in sentence for sentence in resets_by_case[case])


def test_a_member_ran_only_where_it_sent_requests_all_the_time(found_in: Callable[..., Any]) -> None:
    """A paused one sends some until it is paused, and others before the one that is refused. Recorded of three paused
    members, of which two were said to have worked."""
    ran = thrown_out(4, 12, *(call(at_s, FETCH, 5 + at_s) for at_s in (6, 8, 10)))
    paused = thrown_out(4, 12, call(4.1, FETCH, 5), call(11.9, FETCH, 6))
    merged, numbers = merge({"ran": ran, "paused": paused})
    told = {numbers[number_of(row)]: row for row in found_in(merged, ["evicted_member"])}
    assert "it sent no heartbeat for 8.00 s, although it sent 3 other requests (session" in told["ran"]["sentence"]
    assert "it sent nothing for 7.80 s (session timeout: 5000 ms)" in told["paused"]["sentence"]
    assert ["host and network worked" in told[name]["advice"] for name in ("ran", "paused")] == [True, False]
