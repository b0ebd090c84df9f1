"""Whether Spark is asked about rules that need several rows of one client, server or topic-partition: groups made by
hand, and a near miss for each condition."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_spark.stories.findings.read import GroupedRows, Groups, rows_of_none
from kafkascope_spark.stories.findings.rule import Rule
from kafkascope_spark.stories.findings.rules import (
    abandoned_responses,
    advertised_unreachable,
    assigned_twice,
    bootstrap_at_controller,
    broker_stays_fenced,
    closed_at_request,
    committed_offset_back,
    cut_while_waiting,
    evicted_member,
    fetches_not_held,
    gave_up_too_soon,
    idle_reset,
    leader_not_listed,
    log_truncated,
    lost_offsets,
    member_stops,
    metadata_contradicts,
    never_answered,
    no_broker_listed,
    old_address,
    paced_fetches,
    position_beyond_end,
    producer_stopped,
    rebalance_storm,
    received_again,
    returns_to_offset,
    unassigned_partitions,
    unfit_responses,
    written_out_of_order,
    written_twice,
)

SECOND_NS = 1_000_000_000
Rows = Sequence[tuple[Any, ...]]


def asks_spark(rule: Rule, reads: Mapping[str, Rows]) -> bool:
    """Whether the rule's candidates exist. reads: rows of each read, with the values of the columns that the
    candidates name, in their order."""
    (detector,) = (detector for detector in rule.detectors if reads.keys() <= detector.reads.keys())
    test = detector.candidates
    assert test is not None
    while test is not None:
        tables = {
            read: pa.table({name: [row[at] for row in reads[read]] for at, name in enumerate(names)})
            for read, names in test.columns.items()
        }
        if not test.exist(tables):
            return False
        test = test.then
    return True


ENDS = ("10.0.0.9", "10.0.0.1", 9092)
OTHER_SERVER = ("10.0.0.9", "10.0.0.2", 9092)
OTHER_HOST = ("10.0.0.8", "10.0.0.1", 9092)


@pytest.mark.parametrize(
    ("second", "n", "asked"), [(ENDS, 2, True), (ENDS, 1, False), (OTHER_SERVER, 2, False), (OTHER_HOST, 2, False)]
)
def test_three_responses_that_one_host_cut_off(second: tuple[Any, ...], n: int, asked: bool) -> None:
    cut = [("c1", 1), ("c2", n), ("closed by the server", 9)]
    closed = [("c1", *ENDS), ("c2", *second), ("c3", *ENDS)]
    assert asks_spark(abandoned_responses.RULE, {"begun_on_connection": cut, "closed_connections": closed}) is asked


@pytest.mark.parametrize(
    ("second", "server_ip", "asked"),
    [
        (("orphan_response", 2), "10.0.0.1", True),
        (("orphan_response", 1), "10.0.0.1", False),
        (("malformed_body", 2), "10.0.0.1", False),
        (("orphan_response", 2), "10.0.0.2", False),
    ],
)
def test_three_responses_of_a_server_that_do_not_fit(second: tuple[Any, ...], server_ip: str, asked: bool) -> None:
    unfit = [("c1", "orphan_response", 1), ("c2", *second), ("begun before the capture", "orphan_response", 9)]
    opened = [("c1", "10.0.0.1", 9092), ("c2", server_ip, 9092)]
    assert asks_spark(unfit_responses.RULE, {"unfit_on_connection": unfit, "opened_connections": opened}) is asked


@pytest.mark.parametrize(
    ("second", "ends", "waited_s", "answered", "asked"),
    [
        (("Fetch", 2), ENDS, 3, ("c2", "Metadata"), True),
        (("Fetch", 2), ENDS, 2, ("c2", "Metadata"), False),
        (("Fetch", 1), ENDS, 3, ("c2", "Metadata"), False),
        (("Metadata", 2), ENDS, 3, ("c2", "ListOffsets"), False),
        (("Fetch", 2), OTHER_SERVER, 3, ("c2", "Metadata"), False),
        (("Fetch", 2), ENDS, 3, ("c3", "Metadata"), False),
        (("Fetch", 2), ENDS, 3, ("c2", "Fetch"), False),
    ],
)
def test_three_requests_to_a_server_without_an_answer(
    second: tuple[Any, ...], ends: tuple[Any, ...], waited_s: int, answered: tuple[str, str], asked: bool
) -> None:
    name, n = second
    unanswered = [("c1", "Fetch", 1, 0), ("c2", *second, 0), ("not closed by the client", "Fetch", 9, 0)]
    closed = [("c1", *ENDS, 3 * SECOND_NS), ("c2", *ends, waited_s * SECOND_NS)]
    reads: dict[str, Rows] = {
        "unanswered_on_connection": unanswered,
        "closed_connections": closed,
        "unanswered": [("c1", "Fetch", 0, 0), *([("c2", name, 0, None)] * n)],
        "answered_on_connection": [("c1", "Metadata"), answered],
    }
    assert asks_spark(never_answered.RULE, reads) is asked


def test_a_fetch_that_waits_as_long_as_it_may() -> None:
    """Fetch requests that were closed after 3 s, which let the server wait for a second."""
    reads: dict[str, Rows] = {
        "unanswered_on_connection": [("c1", "Fetch", 3, 0)],
        "closed_connections": [("c1", *ENDS, 3 * SECOND_NS)],
        "unanswered": [("c1", "Fetch", 0, 1_000)] * 3,
        "answered_on_connection": [("c1", "Metadata")],
    }
    assert not asks_spark(never_answered.RULE, reads)


@pytest.mark.parametrize(
    ("last", "asked"),
    [
        (("c3", 3, 1_000, 6_001, None), True),
        (("c3", 3, 1_000, 5_999, None), False),
        (("c3", 3, 1_000, 6_001, 6_000), False),
        (("c3", 18, 1_000, 6_001, None), False),
        (("not closed", 3, 1_000, 6_001, None), False),
        (("other server", 3, 1_000, 6_001, None), False),
    ],
)
def test_three_answers_that_come_after_the_client_closed(last: tuple[Any, ...], asked: bool) -> None:
    """Connection, API, times of request and response (ms), max_wait_ms; connections are closed after 6 s."""
    calls = [("c1", 3, 1_000, 7_000, 500), ("c2", 3, 1_000, 7_000, None), last]
    closed = [*((f"c{n}", 6 * SECOND_NS, *ENDS) for n in (1, 2, 3)), ("other server", 6 * SECOND_NS, *OTHER_SERVER)]
    in_ns = [(conn, api, sent * 10**6, answered * 10**6, wait) for conn, api, sent, answered, wait in calls]
    assert asks_spark(gave_up_too_soon.RULE, {"closed": closed, "calls_with_answer": in_ns}) is asked


@pytest.mark.parametrize(
    ("third", "asked"),
    [
        (("c3", *ENDS, "open", 5, 5, 40, 50), True),
        (("c3", *ENDS, "open", 5, 4, 40, 50), False),
        (("c3", *ENDS, "open", 0, 0, 40, 50), False),
        (("c3", *ENDS, "fin_client", 5, 5, 40, 50), False),
        (("c3", *ENDS, "open", 5, 5, 40, 59.5), False),
        (("c3", *OTHER_SERVER, "open", 5, 5, 40, 50), False),
        (("of another client", *ENDS, "open", 5, 5, 40, 50), False),
    ],
)
def test_three_connections_in_whose_place_others_are_opened(third: tuple[Any, ...], asked: bool) -> None:
    """Connection, host and server, how it was closed, requests, responses, begin and end (s)."""
    others = [
        ("c1", *ENDS, "open", 5, 5, 0, 10),
        ("c2", *ENDS, "open", 5, 5, 20, 30),
        ("c4", *ENDS, "fin_client", 1, 1, 60, 70),
    ]
    in_ns = [(*row[:-2], *(int(each * SECOND_NS) for each in row[-2:])) for row in (*others, third)]
    reads: dict[str, Rows] = {
        "left_open": [ENDS, OTHER_SERVER],
        "kafka_connections": in_ns,
        "clients_of_connections": [("ci-1", ["c1", "c2", "c3", "c4"]), ("ci-2", ["of another client"])],
    }
    assert asks_spark(idle_reset.RULE, reads) is asked


REFUSED = "NOT_ENOUGH_REPLICAS_AFTER_APPEND"


@pytest.mark.parametrize(
    ("name", "offset", "changes", "conn_id", "asked"),
    [
        (REFUSED, 15, {}, "c1", True),
        (REFUSED, 14, {}, "c1", False),
        ("NOT_LEADER_OR_FOLLOWER", 15, {}, "c1", False),
        (REFUSED, 15, {"record_bytes": 501}, "c1", False),
        (REFUSED, 15, {"max_timestamp_ms": 12}, "c1", False),
        (REFUSED, 15, {"partition": 1}, "c1", False),
        (REFUSED, 15, {}, "of a broker", False),
    ],
)
def test_a_batch_that_is_accepted_behind_itself(
    name: str, offset: int, changes: dict[str, int], conn_id: str, asked: bool
) -> None:
    """Ten records end at offset 9, five are refused, and the same five are accepted: from 15 on twice."""
    records = {"n_records": 5, "first_timestamp_ms": 10, "max_timestamp_ms": 11, "record_bytes": 500}
    again = {"partition": 0, **records, **changes}
    reads: dict[str, Rows] = {
        "batches": [
            ("r1", "orders", 0, "c1", 1, 10, 1, 2, 900),
            ("r2", "orders", 0, "c1", 2, *records.values()),
            ("r3", "orders", again.pop("partition"), conn_id, 3, *again.values()),
        ],
        "answers": [
            ("r1", "orders", 0, 0, None, 0),
            ("r2", "orders", 0, 20, name, -1),
            ("r3", "orders", 0, 0, None, offset),
            ("r3", "orders", 1, 0, None, offset),
        ],
        "all_clients": [("producer", ["c1"]), ("broker", ["of a broker"]), (None, None)],
    }
    assert asks_spark(written_twice.RULE, reads) is asked


BEFORE = ("c1", "orders", 0, 100, 200, 10, 12)
"""Connection, topic, partition; first and last response; lowest and highest offset."""


@pytest.mark.parametrize(
    ("later", "asked"),
    [
        (("c2", "orders", 0, 250, 300, 13, 20), True),
        (("c2", "orders", 0, 250, 300, 14, 20), False),
        (("c2", "orders", 0, 50, 100, 1, 8), False),
        (("c2", "orders", 1, 250, 300, 13, 20), False),
        (("c2", "bills", 0, 250, 300, 13, 20), False),
        (("same node", "orders", 0, 250, 300, 13, 20), False),
        (("no node", "orders", 0, 250, 300, 13, 20), False),
    ],
)
def test_offsets_that_another_node_may_have_given_before(later: tuple[Any, ...], asked: bool) -> None:
    reads: dict[str, Rows] = {
        "accepted_on": [BEFORE, later],
        "sent_to": [("orders", 0, 2), ("orders", 1, 2)],
        "nodes": [("c1", 1), ("same node", 1), ("c2", 2)],
        "accepted_batches": [("r1", *BEFORE[1:3], "c1", 12, 100), ("r2", *later[1:3], later[0], 13, later[3])],
        "sent_batches": [("r1", *BEFORE[1:3], 2), ("r2", *later[1:3], 2)],
    }
    assert asks_spark(log_truncated.RULE, reads) is asked


@pytest.mark.parametrize(
    ("batches", "asked"),
    [
        ([("c1", 10, 2), ("c2", 12, 3), ("c1", 15, 1)], False),
        ([("c1", 10, 2), ("c2", 11, 3), ("c1", 15, 1)], True),
        ([("c1", 10, 9), ("c1", 11, 3), ("c1", 15, 1)], False),
        ([("c1", 10, 2), ("c2", 12, 3), ("c1", 14, 1)], True),
        ([("c1", 10, 2), ("c2", 0, 3)], False),
        ([("c1", 10, 2), ("no node", 11, 3)], False),
    ],
)
def test_batches_of_a_leader_that_moves_away_and_back(batches: list[tuple[str, int, int]], asked: bool) -> None:
    """Each batch as its connection, first offset and number of records; each leader has later responses than the other
    one has first ones."""
    reads: dict[str, Rows] = {
        "accepted_on": [("c1", "orders", 0, 0, 200, 10, 15), ("c2", "orders", 0, 100, 150, 0, 12)],
        "sent_to": [("orders", 0, 9)],
        "nodes": [("c1", 1), ("c2", 2)],
        "accepted_batches": [(f"r{i}", "orders", 0, conn, base, i) for i, (conn, base, _) in enumerate(batches)],
        "sent_batches": [(f"r{i}", "orders", 0, n) for i, (_, _, n) in enumerate(batches)],
    }
    assert asks_spark(log_truncated.RULE, reads) is asked


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        (("c2", "orders", 0, 4), True),
        (("c2", "orders", 0, 5), False),
        (("c2", "orders", 1, 4), False),
        (("c2", "events", 0, 4), False),
        (("of another group", "orders", 0, 4), False),
        (("that names no group", "orders", 0, 4), False),
    ],
)
def test_an_offset_that_the_group_had_before_it_was_absent(known: tuple[Any, ...], asked: bool) -> None:
    groups = [("c1", "g"), ("c2", "g"), ("c2", "h"), ("of another group", "h")]
    absent, others = [("c1", "orders", 0, 5), ("c1", "new", 0, 9)], [("c1", "read", 0, 1), ("c2", "orders", 0, 7)]
    reads = {"absent_places": absent, "known_places": [known, *others], "groups_on_connection": groups}
    assert asks_spark(lost_offsets.RULE, reads) is asked


@pytest.mark.parametrize(
    ("seconds", "asked"),
    [
        ((0, 300, 600, 900, 1_200), True),
        ((1_200, 0, 900, 600, 300), True),
        ((0, 300, 600, 900), False),
        ((0, 300, 600, 901, 1_201), False),
        ((0, 3_600, 3_610, 3_620, 3_630, 3_640), True),
    ],
)
def test_five_generations_at_most_five_minutes_apart(seconds: tuple[int, ...], asked: bool) -> None:
    mine = [("g", 1_700_000_000 * SECOND_NS + at * SECOND_NS) for at in seconds]
    others = [("h", ns) for _, ns in mine[:2]]
    reads: dict[str, Rows] = {"seen_generations": [*mine, *others], "members": [("h", 1, 2, "fin_client")]}
    assert asks_spark(rebalance_storm.RULE, reads) is asked


@pytest.mark.parametrize(
    ("n", "apart_s", "members", "asked"),
    [
        (7, 10, [("g", 0, None, None)], True),
        (6, 10, [("g", 0, None, None)], False),
        (6, 10, [("h", 0, None, None)], True),
        (8, 10, [("g", 0, 40, "fin_client")], False),
        (9, 10, [("g", 0, 40, "fin_client")], True),
        (7, 10, [("g", 0, 40, "open")], True),
        (6, 10, [("g", -301, 71, "fin_client")], True),
        (20, 16, [("g", at, at, "fin_client") for at in range(0, 300, 30)], True),
        (20, 15, [("g", at, at, "fin_client") for at in range(0, 300, 30)], False),
    ],
)
def test_generations_that_members_do_not_explain(n: int, apart_s: int, members: list[Any], asked: bool) -> None:
    """A start or an end of a member explains two. Members: group, begin and end (s), how it ended."""
    begin_ns = 1_700_000_000 * SECOND_NS

    def at_ns(second: int | None) -> int | None:
        return None if second is None else begin_ns + second * SECOND_NS

    reads: dict[str, Rows] = {
        "seen_generations": [("g", at_ns(number * apart_s)) for number in range(n)],
        "members": [(group, at_ns(start), at_ns(end), state) for group, start, end, state in members],
    }
    assert asks_spark(rebalance_storm.RULE, reads) is asked


@pytest.mark.parametrize(
    ("host", "port", "asked"),
    [("127.0.0.1", 9092, False), ("localhost", 9092, False), ("localhost", 9093, True), ("127.0.0.2", 9092, True)],
)
def test_a_loopback_address_where_no_server_is_seen(host: str, port: int, asked: bool) -> None:
    servers = [("127.0.0.1", 9092, 1), ("10.0.0.1", 9092, 3), ("127.0.0.1", 9093, 0)]
    reads: dict[str, Rows] = {"tried_servers": servers, "loopback_hosts": [(host, port)]}
    assert asks_spark(advertised_unreachable.RULE, reads) is asked


def of_members(*assigned: list[str] | None, instance: str | None = None) -> list[dict[str, Any]]:
    return [
        {"member_id": f"m-{n}", "group_instance_id": instance, "assigned": places} for n, places in enumerate(assigned)
    ]


@pytest.mark.parametrize(
    ("written", "members", "asked"),
    [
        (("orders", 2, 8), of_members(["orders-0"], ["orders-1"]), True),
        (("orders", 2, 6), of_members(["orders-0"], ["orders-1"]), False),
        (("orders", 1, 8), of_members(["orders-0"], ["orders-1"]), False),
        (("events", 2, 8), of_members(["orders-0"], ["orders-1"]), False),
        (("orders", 1, 8), of_members(["orders-0"], None), True),
    ],
)
def test_written_where_no_member_reads(written: tuple[Any, ...], members: list[dict[str, Any]], asked: bool) -> None:
    before = ("g-1", "group", 3, of_members(["orders-0"]))
    complete = [("g-2", "group", 7, members), before, ("h-1", "other", 1, of_members(["new-0"]))]
    reads = {"complete": complete, "written_places": [written, ("orders", 0, 9)]}
    assert asks_spark(unassigned_partitions.RULE, reads) is asked


@pytest.mark.parametrize(
    ("third", "ends", "closed_ns", "asked"),
    [
        ((1, 12), ENDS, SECOND_NS, True),
        ((1, 11), ENDS, SECOND_NS, False),
        ((3, 12), ENDS, SECOND_NS, False),
        ((1, 12), OTHER_HOST, SECOND_NS, False),
        ((1, 12), OTHER_SERVER, SECOND_NS, False),
        ((1, 12), ENDS, SECOND_NS + 1, False),
        ((1, 12), ENDS, -1, False),
    ],
)
def test_three_connections_that_a_server_closes_at_one_request(
    third: tuple[int, int], ends: tuple[Any, ...], closed_ns: int, asked: bool
) -> None:
    unanswered = [("c1", 0, 1, 12), ("c1", 0, 1, 12), ("c2", 0, 1, 12), ("c3", 0, *third), ("open", 0, 1, 12)]
    closed = [("c1", 9, *ENDS), ("c2", 9, *ENDS), ("c3", closed_ns, *ends), ("without a request", 9, *ENDS)]
    assert asks_spark(closed_at_request.RULE, {"unanswered": unanswered, "closed": closed}) is asked


@pytest.mark.parametrize(
    ("members", "asked"),
    [
        (of_members(["orders-0"], ["orders-1"]), False),
        (of_members(["orders-0", "orders-1"], ["orders-1"]), True),
        (of_members(["orders-0"], None), False),
        (of_members(["orders-0"], ["orders-0"], instance="pod-0"), False),
    ],
)
def test_a_partition_of_two_members(members: list[dict[str, Any]], asked: bool) -> None:
    reads = {"settled": [(of_members(["new-0"], ["new-1"]),), (members,)]}
    assert asks_spark(assigned_twice.RULE, reads) is asked


@pytest.mark.parametrize(("leader_id", "asked"), [(1, False), (7, True)])
def test_a_leader_that_no_metadata_lists(leader_id: int, asked: bool) -> None:
    reads = {"leaders": [(2,), (leader_id,)], "brokers": [(1,), (2,)]}
    assert asks_spark(leader_not_listed.RULE, reads) is asked


@pytest.mark.parametrize(("last_ns", "asked"), [(SECOND_NS, True), (2 * SECOND_NS, True), (3 * SECOND_NS, False)])
def test_a_client_that_ends_with_metadata(last_ns: int, asked: bool) -> None:
    metadata = [("c1", SECOND_NS), ("c2", 0)]
    reads: dict[str, Rows] = {
        "last_metadata": metadata,
        "working": [(["c2", "c1"], last_ns), (["c3"], 9 * SECOND_NS)],
    }
    assert asks_spark(no_broker_listed.RULE, reads) is asked


@pytest.mark.parametrize(
    ("served", "asked"), [((1, "10.0.0.2"), True), ((1, "10.0.0.1"), False), ((2, "10.0.0.2"), False)]
)
def test_a_node_that_serves_at_another_address(served: tuple[int, str], asked: bool) -> None:
    assert asks_spark(old_address.RULE, {"attempts_at": [(1, "10.0.0.1")], "served_at": [served]}) is asked


@pytest.mark.parametrize(
    ("fenced", "every_s", "named", "asked"),
    [
        ("0111111111111", 10, 1, True),
        ("0111111111110", 10, 1, False),
        ("1111111111110", 10, 2, True),
        ("1111111", 10, 1, False),
        ("1111111111111", 1, 1, False),
    ],
)
def test_heartbeats_that_are_answered_as_fenced_to_the_end(fenced: str, every_s: int, named: int, asked: bool) -> None:
    """named: broker that the last heartbeat names; the others name broker 1."""
    numbered = list(enumerate(fenced))
    reads: dict[str, Rows] = {
        "heartbeats": [(f"r{i}", 1 + i * every_s * SECOND_NS) for i, _ in numbered],
        "named": [(f"r{i}", named if i == len(fenced) - 1 else 1) for i, _ in numbered],
        "answered": [(f"r{i}", each == "1") for i, each in numbered],
    }
    assert asks_spark(broker_stays_fenced.RULE, reads) is asked


@pytest.mark.parametrize(
    ("silences_s", "server", "asked"),
    [
        ((50, 50, 50), ENDS[1:], True),
        ((50, 50, 50, 20), ENDS[1:], True),
        ((50, 50, 55), ENDS[1:], False),
        ((50, 50, 61), ENDS[1:], False),
        ((1, 1, 1), ENDS[1:], False),
        ((50, 50), ENDS[1:], False),
        ((50, 50, 50), OTHER_SERVER[1:], False),
    ],
)
def test_three_fetches_that_a_server_cuts_after_the_same_time(
    silences_s: tuple[int, ...], server: tuple[str, int], asked: bool
) -> None:
    """server: that of the first connection."""
    waiting = [(f"c{i}", i, 60_000) for i in range(len(silences_s))]
    closed = [(f"c{i}", i + silence * SECOND_NS, *(ENDS[1:] if i else server)) for i, silence in enumerate(silences_s)]
    assert asks_spark(cut_while_waiting.RULE, {"waiting": waiting, "closed": closed}) is asked


@pytest.mark.parametrize(("n_held", "holds", "asked"), [(1, "c2", False), (0, "c2", True), (1, "elsewhere", True)])
def test_a_server_that_holds_no_fetch(n_held: int, holds: str, asked: bool) -> None:
    reads: dict[str, Rows] = {
        "empty_on_connection": [("c1",)],
        "held_on_connection": [("c1", 0), (holds, n_held)],
        "opened": [("c1", *ENDS[1:]), ("c2", *ENDS[1:]), ("elsewhere", *OTHER_SERVER[1:])],
    }
    assert asks_spark(fetches_not_held.RULE, reads) is asked


@pytest.mark.parametrize(
    ("offsets", "every_s", "group", "asked"),
    [
        ((7, 90, 7, 90, 7, 90, 7), 3, "g", True),
        ((7, 90, 7, 90, 7, 90), 3, "g", False),
        ((7, 90, 8, 90, 9, 90, 10), 3, "g", False),
        ((7, 90, 7, 7, 7, 7, 7), 3, "g", False),
        ((7, 90, 7, 90, 7, 90, 7), 1, "g", False),
        ((7, 90, 7, 90, 7, 90, 7), 3, "of others", False),
    ],
)
def test_a_group_that_goes_back_to_one_offset(offsets: tuple[int, ...], every_s: int, group: str, asked: bool) -> None:
    reads: dict[str, Rows] = {
        "fetched_again": [("orders", 0, "g")],
        "members": [(["c1"], group)],
        "fetches": [(f"r{i}", i * every_s * SECOND_NS, "c1", "orders", 0, at) for i, at in enumerate(offsets)],
    }
    assert asks_spark(returns_to_offset.RULE, reads) is asked


BROKER, CONTROLLER = ["Fetch:4-17", "Metadata:0-13"], ["Fetch:4-17", "Vote:0-2"]


@pytest.mark.parametrize(
    ("offered", "server", "asked"),
    [(CONTROLLER, ENDS, True), (BROKER, ENDS, False), ([], ENDS, False), (CONTROLLER, OTHER_SERVER, False)],
)
def test_three_connections_to_a_controller(offered: list[str], server: tuple[Any, ...], asked: bool) -> None:
    greeted = [(CONTROLLER, *ENDS[1:]), (CONTROLLER, *ENDS[1:]), (offered, *server[1:]), (BROKER, *ENDS[1:])]
    assert asks_spark(bootstrap_at_controller.RULE, {"greeted": greeted}) is asked


@pytest.mark.parametrize(
    ("spans", "asked"),
    [
        ([("c1", 11, 5, 30, 0), ("c1", 13, 20, 20, 1)], True),
        ([("c1", 11, 5, 10, 0), ("c1", 13, 20, 20, 1)], False),
        ([("c1", 11, 5, 30, 0), ("c2", 13, 20, 20, 1)], False),
        ([("c1", 11, 5, 30, 0)], False),
        ([("c1", 68, 5, 30, 1)], True),
        ([("c1", 68, 5, 30, 0)], False),
    ],
)
def test_a_member_that_leaves_and_joins_on_one_connection(spans: Rows, asked: bool) -> None:
    """Connection, API (JoinGroup, LeaveGroup or ConsumerGroupHeartbeat), first and last time, requests that leave."""
    assert asks_spark(evicted_member.RULE, {"membership": spans}) is asked


@pytest.mark.parametrize(
    ("left", "asked"), [([5] * 19 + [40], True), ([5] * 19 + [39], False), ([5] * 18 + [40], False)]
)
def test_more_records_left_than_the_consumer_read(left: list[int], asked: bool) -> None:
    """Twenty responses with two records each. left: records behind each response."""
    (detector,) = paced_fetches.RULE.detectors
    read = detector.reads["left_behind"]
    assert isinstance(read, Groups)
    response = {"api_key": 1, "direction": "response", "conn_id": "c1", "topic": "orders", "partition": 0}
    rows = [{**response, "n_records": 2, "last_offset": 9, "high_watermark": 10 + n} for n in left]
    table = pa.Table.from_pylist(rows, rows_of_none(read.source).schema)
    groups = GroupedRows(read)
    condition = read.rows.condition
    assert condition is not None
    groups.take(table.filter(condition.value(table)))
    assert (groups.table().num_rows > 0) is asked


@pytest.mark.parametrize(
    ("sent_ns", "last_s", "asked"),
    [
        ({"c1": 10}, 40, True),
        ({"c1": 10}, 29, False),  # the client ends before long
        ({"c1": 11}, 40, False),  # a later batch was sent on the same connection
        ({"c1": 10, "c2": 12}, 40, False),  # or on the next one
        ({"c1": 10, "c3": 12}, 40, True),  # by another client
    ],
)
def test_producers_whose_last_batch_failed(sent_ns: Mapping[str, int], last_s: int, asked: bool) -> None:
    reads: dict[str, Rows] = {
        "failed_requests": [("c1", 10 * SECOND_NS)],
        "producers": [("client-a", ["c1", "c2"], last_s * SECOND_NS), ("client-b", ["c3"], 11 * SECOND_NS)],
        "last_sent": [(conn_id, "orders", 0, at_s * SECOND_NS) for conn_id, at_s in sent_ns.items()],
    }
    assert asks_spark(producer_stopped.RULE, reads) is asked


@pytest.mark.parametrize(
    ("batches", "asked"),
    [
        ("ABA", True),
        ("AAB", False),  # sent again before the next one
        ("AB", False),  # never sent again
        ("BAA", False),
        ("AABA", True),  # refused twice
    ],
)
def test_batches_between_the_attempts_of_one_that_was_refused(batches: str, asked: bool) -> None:
    """batches: in the order of sending; A was refused, and is number 0 of the requests where it comes first."""
    sent = [
        ("c1", f"r{at}", "orders", 0, at * SECOND_NS, ord(batch), ord(batch), 1) for at, batch in enumerate(batches)
    ]
    reads: dict[str, Rows] = {
        "refusals": [(f"r{batches.index('A')}", "orders", 0)],
        "without_id": sent,
        "owners": [("client-a", ["c1"])],
    }
    assert asks_spark(written_out_of_order.RULE, reads) is asked


@pytest.mark.parametrize(
    ("commits", "lookup", "asked"),
    [
        ([(1, 10), (2, 40)], (3, 30), True),
        ([(1, 40), (2, 10)], (3, 30), True),  # the highest one counts, not the last one
        ([(1, 10), (2, 30)], (3, 30), False),
        ([(1, 10), (4, 40)], (3, 30), False),  # the higher commit comes later
        ([(3, 40)], (3, 30), False),
    ],
)
def test_offsets_that_are_looked_up_after_a_higher_commit(
    commits: list[tuple[int, int]], lookup: tuple[int, int], asked: bool
) -> None:
    """Commits and look-up of a topic-partition: time and offset. Commits of another one do not count."""
    elsewhere = ("orders", 1, 1, 90)
    reads: dict[str, Rows] = {
        "committing": [*(("orders", 0, *each) for each in commits), elsewhere],
        "looking_up": [("orders", 0, *lookup)],
        "commits": [*(("orders", 0, *each) for each in commits), elsewhere],
        "lookups": [("orders", 0, *lookup)],
    }
    assert asks_spark(committed_offset_back.RULE, reads) is asked


@pytest.mark.parametrize(
    ("reader", "last_s", "asked"), [("ci-1", 40, True), ("ci-1", 12, False), ("ci-2", 40, False), ("ci-3", 40, False)]
)
def test_a_member_that_fetches_the_partition_of_another(reader: str, last_s: int, asked: bool) -> None:
    members = [{**each, "client_instance_id": f"ci-{n}"} for n, each in enumerate(of_members([], ["orders-0"]), 1)]
    reads: dict[str, Rows] = {
        "generations": [("billing", 2 * SECOND_NS, members), ("billing", SECOND_NS, of_members(["orders-0"], []))],
        "fetched_places": [("c1", "orders", 0, last_s * SECOND_NS), ("c1", "orders", 9, 90 * SECOND_NS)],
        "owners": [(reader, ["c1"])],
    }
    assert asks_spark(assigned_twice.RULE, reads) is asked


@pytest.mark.parametrize(
    ("beats", "left_s", "until_s", "asked"),
    [(8, None, 60, True), (8, None, 30, False), (2, None, 60, False), (8, 20, 60, True), (8, 24, 60, False)],
)
def test_a_member_without_heartbeats(beats: int, left_s: int | None, until_s: int, asked: bool) -> None:
    left = [] if left_s is None else [("c1", "LeaveGroup", 1, left_s * SECOND_NS, left_s * SECOND_NS)]
    reads: dict[str, Rows] = {
        "membership_on": [("c1", "Heartbeat", beats, SECOND_NS, 22 * SECOND_NS), *left],
        "others_on": [("c2", "Fetch", 90, SECOND_NS, until_s * SECOND_NS)],
        "owners": [("ci-1", ["c1", "c2"])],
    }
    assert asks_spark(member_stops.RULE, reads) is asked


@pytest.mark.parametrize(("n", "until_s", "asked"), [(6, 60, True), (6, 45, False), (4, 60, False)])
def test_a_member_without_commits(n: int, until_s: int, asked: bool) -> None:
    reads: dict[str, Rows] = {
        "committed_on": [("c1", "OffsetCommit", n, SECOND_NS, 26 * SECOND_NS)],
        "read_on": [("c2", "Fetch", 90, SECOND_NS, until_s * SECOND_NS)],
        "owners": [("ci-1", ["c1", "c2"])],
    }
    assert asks_spark(member_stops.RULE, reads) is asked


@pytest.mark.parametrize(
    ("place", "log_end", "conn_id", "asked"),
    [
        (("c1", "orders", 0), 499, "c1", True),
        (("c1", "orders", 0), 500, "c1", False),
        (("c2", "orders", 0), 499, "c1", False),
        (("c1", "orders", 0), 499, "c2", False),
    ],
    ids=["beyond", "at the end", "on another connection", "of a replica"],
)
def test_a_position_beyond_the_end(place: tuple[Any, ...], log_end: int, conn_id: str, asked: bool) -> None:
    reads: dict[str, Rows] = {
        "asked_at": [("c1", "orders", 0, 500)],
        "ends_at": [(*place, log_end)],
        "consumers": [("ci-1", [conn_id])],
    }
    assert asks_spark(position_beyond_end.RULE, reads) is asked


@pytest.mark.parametrize(
    ("second", "asked"), [((9, 1, 90), False), ((8, 1, 90), True), ((5, 4, 90), False), ((8, 1, 80), True)]
)
def test_a_partition_that_is_not_in_all_metadata(second: tuple[int, int, int], asked: bool) -> None:
    reads: dict[str, Rows] = {"named": [("k", "orders", 9, 1, 90), ("k", "orders", *second), ("k2", "orders", 2, 2, 9)]}
    assert asks_spark(metadata_contradicts.RULE, reads) is asked


@pytest.mark.parametrize(("n_records", "asked"), [(150, True), (149, False)])
def test_records_that_a_connection_gets_again(n_records: int, asked: bool) -> None:
    reads: dict[str, Rows] = {"repeated": [(100, 199, n_records), (0, 9, 10)]}
    assert asks_spark(received_again.RULE, reads) is asked
