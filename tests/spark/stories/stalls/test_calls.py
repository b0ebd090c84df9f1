"""When a client waited for its coordinator or for metadata, from hand-made requests."""

import pytest

from kafkascope_analyzer.dataset.row_types import column_fields
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.stalls.calls import GIVE_UP_NS, Calls
from kafkascope_spark.stories.stalls.stall import StallLimits

S = 1_000_000_000
END = 1_000


@pytest.fixture
def calls(rows_of):
    """Takes what rows_of takes and gives spans of the stalls by kind."""

    def make(steps, left=None):
        found = rows_of(steps, left)
        return [(r.kind, r.from_ns / S, r.to_ns and r.to_ns / S, r.n_attempts) for r in found]

    return make


@pytest.fixture
def rows_of(instance, request_of):
    """Takes (API key, sent, answered or None, error or None, more) and gives the rows of the stalls."""

    def make(steps, left=None):
        machine = Calls(instance(), StallLimits(END * S, S))
        for number, (key, sent, answered, error, *more) in enumerate(steps):
            request = request_of(number, key, sent, answered, **(more[0] if more else {}))
            machine.on_request(request)
            if answered is not None:
                machine.on_answer(
                    request,
                    [ErrorRun.of({"request_id": request.request_id, "api_key": key, "error_name": error, "n": 1})]
                    if error
                    else [],
                )
        return list(machine.finish(None if left is None else left * S))

    return make


@pytest.fixture
def instance(connection):
    from kafkascope_spark.stories.clients.identity.grouping import Group
    from kafkascope_spark.stories.clients.identity.instances import Instance
    from kafkascope_spark.stories.clients.identity.kinds import kind_of

    def make():
        connections = [connection("c1", 0, None)]
        return Instance("ci-1", "10.0.0.9", "app", kind_of(connections), Group(connections), connections)

    return make


@pytest.fixture
def request_of(request_sent):
    def make(number, key, sent, answered, **more):
        row = request_sent(f"c1-{number}", "c1", key)
        row.ts_ns = row.request_last_ns = round(sent * S)
        row.response_ns = None if answered is None else round(answered * S)
        row.status = "unanswered" if answered is None else "ok"
        row.group_id, row.transactional_id, row.generation_or_epoch, row.member_id = "g", "tx", 3, "m"
        for name, value in more.items():
            setattr(row, name, value)
        return row

    return make


@pytest.fixture
def request_sent():
    from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request

    def make(request_id, conn_id, key):
        empty = dict.fromkeys(column_fields(Request))
        known = {"request_id": request_id, "api_key": key, "error_code": 0, "node_id": 1}
        return Request(**empty | known, conn_id=conn_id)

    return make


COMMIT, HEARTBEAT, JOIN, SYNC = (
    api_keys.OFFSET_COMMIT,
    api_keys.HEARTBEAT,
    api_keys.JOIN_GROUP,
    api_keys.SYNC_GROUP,
)
GOOD = (COMMIT, 1, 1.01, None)


def test_a_slow_answer_is_a_wait(calls):
    assert calls([GOOD, (COMMIT, 10, 13, None)]) == [("commit", 10, 13, 1)]


def test_errors_after_which_the_client_asks_again_are_one_wait(calls):
    steps = [GOOD, (COMMIT, 10, 10.1, "NOT_COORDINATOR"), (COMMIT, 11, 12, "COORDINATOR_LOAD_IN_PROGRESS")]
    assert calls([*steps, (COMMIT, 13, 13.5, None)]) == [("commit", 10, 13.5, 3)]


def test_metadata_serves_nobody_who_is_refused_a_coordinator(rows_of):
    """Recorded: a consumer that may not use its group asks for its coordinator, and for metadata in between."""
    metadata, sought = api_keys.METADATA, {"coordinator_key": "shop"}
    steps = [(metadata, 1, 1.01, None)]
    for at in (2, 5, 9):
        steps += [(api_keys.FIND_COORDINATOR, at, at + 0.1, "GROUP_AUTHORIZATION_FAILED", sought)]
        steps += [(metadata, at + 1, at + 1.1, None)]
    (row,) = rows_of(steps, 12)
    assert (row.kind, row.from_ns, row.to_ns, row.served) == ("metadata", 2 * S, 12 * S, False)
    (row,) = rows_of([*steps, (api_keys.FIND_COORDINATOR, 11, 11.1, None, sought)], 12)
    assert (row.from_ns, row.to_ns, row.served) == (2 * S, round(11.1 * S), True)


def test_who_asks_again_for_what_it_may_not_have_waits_until_it_may(calls):
    """As a member whose right to its group was taken away: it went on, and its commits were refused for 10 s."""
    denied = [(COMMIT, at, at + 0.1, "GROUP_AUTHORIZATION_FAILED") for at in (10, 15)]
    assert calls([GOOD, *denied, (COMMIT, 20, 20.1, None)]) == [("commit", 10, 20.1, 3)]
    assert calls([*denied, (COMMIT, 20, 20.1, None)]) == []


def test_a_request_without_an_answer_waits_for_the_next_that_has_one(calls):
    assert calls([GOOD, (COMMIT, 10, None, None), (COMMIT, 20, 20.1, None)]) == [("commit", 10, 20.1, 2)]


def test_what_comes_before_the_first_success_is_the_start(calls):
    assert calls([(COMMIT, 10, 10.1, "NOT_COORDINATOR"), (COMMIT, 15, 15.1, None)]) == []


def test_what_the_controller_decides_is_waited_for_from_the_first_request_on(calls):
    create_topics, create_partitions, describe_configs = 19, 37, 32
    assert {create_topics, create_partitions} < api_keys.CONTROLLER_APIS
    steps = [(create_topics, 10, 20.5, None), (create_partitions, 21, 21.1, None), (describe_configs, 30, 45, None)]
    assert calls(steps) == [("admin", 10, 20.5, 1)]


def test_a_rebalance_is_no_wait(calls):
    assert calls([GOOD, (COMMIT, 10, 10.1, "REBALANCE_IN_PROGRESS"), (COMMIT, 15, 15.1, None)]) == []
    joined = [(SYNC, 1, 1.1, None), (JOIN, 10, 40, None), (SYNC, 40, 41.5, None)]
    assert calls(joined) == []


def test_a_member_keeps_its_place_while_a_heartbeat_waits(calls):
    assert calls([(HEARTBEAT, 1, 1.1, None), (HEARTBEAT, 10, 18, None), (HEARTBEAT, 20, None, None)]) == []
    moved = [(HEARTBEAT, 1, 1.1, None), (HEARTBEAT, 10, 10.1, "NOT_COORDINATOR"), (HEARTBEAT, 13, 13.1, None)]
    assert calls(moved) == []


def test_a_heartbeat_that_is_refused_late_was_waited_for(calls):
    """As recorded of two librdkafka consumers whose coordinator was silent for 17 s, and had moved when it was back."""
    start = (HEARTBEAT, 1, 1.1, None)
    late = (HEARTBEAT, 10, 38, "NOT_COORDINATOR")
    assert calls([start, late, (COMMIT, 38.1, 38.2, None)]) == [("membership", 10, 38.2, 2)]
    join, synced = (JOIN, 25, 25.1, "NOT_COORDINATOR"), (SYNC, 40, 40.1, None)
    assert calls([start, join, late, synced]) == [("membership", 10, 40.1, 3)]
    assert calls([start, (SYNC, 26, 26.1, None), late, synced]) == [], "it was in the group at 26.1"


def test_a_member_that_is_out_waits_until_it_is_in_again(calls):
    steps = [(HEARTBEAT, 1, 1.1, None), (HEARTBEAT, 10, 10.4, "UNKNOWN_MEMBER_ID"), (JOIN, 11, 14, None)]
    assert calls([*steps, (SYNC, 14, 14.2, None)]) == [("membership", 10.4, 14.2, 2)]


def test_a_member_that_learns_from_a_commit_that_it_is_out_waits_since_then(calls):
    """As recorded of a sarama consumer whose coordinator had been frozen: its first request afterwards is a commit."""
    member = (HEARTBEAT, 1, 1.1, None)
    out, joined = (COMMIT, 10, 10.1, "UNKNOWN_MEMBER_ID"), (SYNC, 12.6, 12.8, None)
    assert calls([member, GOOD, out, (HEARTBEAT, 12, 12.1, "UNKNOWN_MEMBER_ID"), joined]) == [
        ("membership", 10.1, 12.8, 3)
    ]
    assert calls([GOOD, out, joined]) == [], "it was no member before, as far as the capture shows"


def test_a_join_that_is_not_answered_is_a_wait(calls):
    steps = [(SYNC, 1, 1.1, None), (JOIN, 10, None, None), (JOIN, 20, 20.1, None), (SYNC, 20.1, 20.2, None)]
    assert calls(steps) == [("membership", 10, 20.2, 2)]


def test_what_is_not_repeated_was_given_up(calls):
    late = 10.1 + GIVE_UP_NS // S + 1
    assert calls([GOOD, (COMMIT, 8, 10.1, "NOT_COORDINATOR"), (COMMIT, late, late + 0.1, None)]) == [
        ("commit", 8, 10.1, 1)
    ]


def test_a_client_that_gives_up_or_leaves_was_not_served(rows_of):
    refused, late = (COMMIT, 8, 10.1, "NOT_COORDINATOR"), 10.1 + GIVE_UP_NS // S + 1
    served = lambda *steps, left=None: [row.served for row in rows_of([GOOD, *steps], left)]  # noqa: E731
    assert served(refused, (COMMIT, 11, 11.1, None)) == [True]
    assert served(refused, (COMMIT, late, late + 0.1, None)) == [False]
    assert served((COMMIT, END - 5, None, None), left=END - 3) == [False]
    assert served((COMMIT, END - 5, None, None)) == [None]


def test_a_wait_at_the_end_is_open_while_the_client_lives(calls):
    lost = [GOOD, (COMMIT, END - 5, None, None)]
    assert calls(lost) == [("commit", END - 5, None, 1)]
    assert calls(lost, left=END - 3) == [("commit", END - 5, END - 3, 1)]


def test_the_end_of_the_transaction_before_is_waited_for_in_the_normal_course(calls):
    """Twenty transactions, 120 ms apart: the first request of each is refused, and accepted 100 ms later."""
    key = api_keys.END_TXN
    steps = [(key, 1, 1.1, None)]
    for at in (10 + 0.12 * n for n in range(20)):
        steps += [(key, at, at + 0.005, "CONCURRENT_TRANSACTIONS"), (key, at + 0.1, at + 0.105, None)]
    assert calls(steps) == []
    assert calls([*steps[:2], (key, 11.1, 11.2, None)]) == [("transaction", 10, 11.2, 2)]


def test_each_transactional_id_waits_by_itself(calls):
    key, other = api_keys.END_TXN, {"transactional_id": "other"}
    steps = [(key, 1, 1.1, None), (key, 10, 10.1, "CONCURRENT_TRANSACTIONS"), (key, 11, 11.1, None, other)]
    assert calls([*steps, (key, 12, 12.1, None)]) == [("transaction", 10, 12.1, 2)]
