from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, Request
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.startups.lifecycle import Startups
from kafkascope_spark.stories.startups.table import StartupRow, StartupStepRow

MS = 1_000_000
CREATE_TOPICS = 19
CAPTURE = (0, 60_000 * MS)
MakeInstance = Callable[..., Instance]
MakeConnection = Callable[..., Connection]
MakeRequest = Callable[..., Request]
CONSUMER = {"apis": {api_keys.METADATA, api_keys.JOIN_GROUP, api_keys.FETCH}}


def rows_of(
    instance: Instance,
    connection: Connection,
    requests: list[Request],
    uncovered: Uncovered = NOTHING_UNCOVERED,
) -> dict[str, list[Any]]:
    """Open the connection, send the requests one after the other, close it."""
    startups = Startups(instance, CAPTURE, uncovered)
    startups.on_open(connection)
    for request in requests:
        startups.on_request(request)
        if request.response_ns is not None:
            startups.on_answer(request)
    if connection.close_ns is not None:
        startups.on_close(connection, connection.close_ns)
    rows: dict[str, list[Any]] = {}
    for row in startups.finish():
        rows.setdefault(row.TABLE.name, []).append(row)
    return rows


def test_a_consumer_is_ready_at_its_first_records(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, 9_000, **CONSUMER)
    sent = [
        request_row(api_keys.API_VERSIONS, 1, 2),
        request_row(api_keys.METADATA, 2, 3),
        request_row(api_keys.FETCH, 10, 500, n_records=0),
        request_row(api_keys.FETCH, 510, 520, n_records=7),
        request_row(api_keys.FETCH, 530, 540, n_records=7),
    ]
    rows = rows_of(instance(one), one, sent)
    (start,) = rows["startups"]
    assert (start.outcome, start.start_ns, start.ready_ns) == ("ready", 0, 520 * MS)
    steps = [(s.step, s.phase) for s in rows["startup_steps"]]
    assert steps == [
        ("tcp_connect", "bootstrap"),
        ("api_versions", "bootstrap"),
        ("metadata", "bootstrap"),
        ("first_fetch", "steady"),
        ("first_records", "steady"),
    ]
    assert start.missing_steps == ("find_coordinator_group", "join_group", "sync_group", "offset_fetch")
    assert start.evidence == ("c1-1-510",)


def test_no_start_is_made_up_for_a_connection_that_was_there_before(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, None, syn_ns=None, up_ns=None, **CONSUMER)
    (start,) = rows_of(instance(one), one, [request_row(api_keys.FETCH, 5, 9, n_records=3)])["startups"]
    assert (start.outcome, start.ready_ns) == ("cut", None)


def test_a_counter_that_is_far_shows_that_the_client_ran_before(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, None, ids=[(MS, 4_711)], **CONSUMER)
    (start,) = rows_of(instance(one), one, [request_row(api_keys.FETCH, 5, 9, n_records=3)])["startups"]
    assert start.outcome == "cut"


def test_a_refused_password_is_where_it_failed(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, 90, apis={api_keys.SASL_AUTHENTICATE, api_keys.METADATA})
    denied = request_row(api_keys.SASL_AUTHENTICATE, 3, 4, error_code=58, error_name="SASL_AUTHENTICATION_FAILED")
    (start,) = rows_of(instance(one), one, [denied])["startups"]
    failure = (start.outcome, start.failed_step, start.error_name)
    assert failure == ("failed", "sasl_authenticate", "SASL_AUTHENTICATION_FAILED")


def test_a_consumer_of_nothing_that_leaves_is_done_and_one_that_stays_is_cut(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """As in an idle cluster that was recorded: its topics had no records, and nothing failed."""
    gone = connection("c1", 0, 9_000, **CONSUMER)
    (start,) = rows_of(instance(gone), gone, [request_row(api_keys.FETCH, 5, 500, n_records=0)])["startups"]
    assert start.outcome == "done"
    here = connection("c1", 0, None, **CONSUMER)
    late = request_row(api_keys.FETCH, 59_000, 59_500, n_records=0)
    (start,) = rows_of(instance(here), here, [late])["startups"]
    assert start.outcome == "cut"


def test_a_member_that_no_partition_was_left_for_is_done(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """As in an idle cluster that was recorded: SyncGroup gave one of two members an empty assignment. Where its
    last request was refused, the start has failed all the same."""
    gone = connection("c1", 0, 9_000, **CONSUMER)
    kept = [request_row(api_keys.JOIN_GROUP, 5, 6), request_row(api_keys.HEARTBEAT, 3_000, 3_005)]
    (start,) = rows_of(instance(gone), gone, kept)["startups"]
    assert start.outcome == "done"
    refused = request_row(api_keys.METADATA, 3_100, 3_101, error_code=5, error_name="LEADER_NOT_AVAILABLE")
    (start,) = rows_of(instance(gone), gone, [*kept, refused])["startups"]
    assert start.outcome == "failed"


def test_a_member_that_asked_for_its_offsets_and_never_fetched_is_not_done(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """Only members that have a partition ask for its committed offset: it was there to read that partition."""
    gone = connection("c1", 0, 9_000, **CONSUMER)
    asked = [request_row(api_keys.JOIN_GROUP, 5, 6), request_row(api_keys.OFFSET_FETCH, 7, 8)]
    (start,) = rows_of(instance(gone), gone, [*asked, request_row(api_keys.HEARTBEAT, 3_000, 3_005)])["startups"]
    assert start.outcome == "gave_up"


@pytest.mark.parametrize(
    ("code", "error", "outcome"),
    [
        (36, "TOPIC_ALREADY_EXISTS", "done"),
        (38, "INVALID_REPLICATION_FACTOR", "done"),
        (29, "TOPIC_AUTHORIZATION_FAILED", "failed"),
        (41, "NOT_CONTROLLER", "failed"),
    ],
)
def test_an_administrator_that_was_answered_has_not_failed(
    code: int,
    error: str,
    outcome: str,
    instance: MakeInstance,
    connection: MakeConnection,
    request_row: MakeRequest,
) -> None:
    """A program creates its topic at each start, and is told that it is there."""
    gone = connection("c1", 0, 9_000, apis={CREATE_TOPICS})
    asked = request_row(CREATE_TOPICS, 3, 4, error_code=code, error_name=error)
    (start,) = rows_of(instance(gone), gone, [asked])["startups"]
    assert start.outcome == outcome


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [
        ([(api_keys.INIT_PRODUCER_ID, 5, 6)], "done"),
        ([(api_keys.INIT_PRODUCER_ID, 5, None)], "failed"),
        ([(api_keys.INIT_PRODUCER_ID, 5, 6), (api_keys.PRODUCE, 7, None)], "gave_up"),
        ([(api_keys.INIT_PRODUCER_ID, 5, 6), (api_keys.ADD_PARTITIONS_TO_TXN, 7, 8)], "gave_up"),
    ],
    ids=["nothing to send", "no producer id", "records without an answer", "a transaction that it leaves"],
)
def test_a_producer_that_had_nothing_to_send_is_done(
    sent: list[tuple[int, int, int | None]],
    outcome: str,
    instance: MakeInstance,
    connection: MakeConnection,
    request_row: MakeRequest,
) -> None:
    """It got a producer id, sent no records, and left: nobody waited for anything."""
    gone = connection("c1", 0, 9_000, apis={api_keys.METADATA, api_keys.INIT_PRODUCER_ID})
    asked = [request_row(api_keys.METADATA, 3, 4), *(request_row(*each) for each in sent)]
    (start,) = rows_of(instance(gone), gone, asked)["startups"]
    assert start.outcome == outcome


@pytest.mark.parametrize(("produced", "outcome"), [(False, "done"), (True, "gave_up")])
def test_a_producer_that_connects_again_with_nothing_to_send_has_not_failed(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest, *, produced: bool, outcome: str
) -> None:
    """Recorded of a Java producer that sends every 7 s, to brokers that close what was idle for 4 s: it was stopped
    1.3 s after it had connected again. A record without a response was not written."""
    apis = {api_keys.METADATA, api_keys.INIT_PRODUCER_ID, api_keys.PRODUCE}
    first, again = connection("c1", 0, 9_000, apis=apis), connection("c2", 43_091, 44_400, apis=apis)
    startups = Startups(instance(first, again), CAPTURE)
    sent = [(api_keys.METADATA, 3, 4), (api_keys.INIT_PRODUCER_ID, 5, 6), (api_keys.PRODUCE, 7, 8)]
    later = [(api_keys.METADATA, 43_095, 43_096), *([(api_keys.PRODUCE, 43_100, None)] if produced else [])]
    for one, requests in ((first, sent), (again, later)):
        startups.on_open(one)
        for each in requests:
            request = request_row(*each, conn_id=one.conn_id)
            startups.on_request(request)
            if request.response_ns is not None:
                startups.on_answer(request)
        startups.on_close(one, one.close_ns or 0)
    assert [row.outcome for row in startups.finish() if isinstance(row, StartupRow)] == ["ready", outcome]


def test_a_consumer_that_leaves_before_a_fetch_is_answered_gave_up(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    gone = connection("c1", 0, 9_000, **CONSUMER)
    asked = [request_row(api_keys.METADATA, 3, 4), request_row(api_keys.JOIN_GROUP, 5, 6)]
    (start,) = rows_of(instance(gone), gone, asked)["startups"]
    assert start.outcome == "gave_up"


@pytest.mark.parametrize(
    ("apis", "error", "outcome"),
    [
        ({api_keys.API_VERSIONS, api_keys.METADATA}, 0, "done"),
        ({api_keys.API_VERSIONS, api_keys.METADATA}, 5, "failed"),
        ({api_keys.API_VERSIONS, api_keys.METADATA, api_keys.PRODUCE}, 0, "gave_up"),
    ],
    ids=["a tool", "a tool that is refused", "a producer"],
)
def test_who_asks_for_metadata_alone_and_leaves_has_done_its_work(
    apis: set[int],
    error: int,
    outcome: str,
    instance: MakeInstance,
    connection: MakeConnection,
    request_row: MakeRequest,
) -> None:
    """As `kcat -L` and console tools do; nobody knows that they wanted more."""
    gone = connection("c1", 0, 100, apis=apis)
    name = "LEADER_NOT_AVAILABLE" if error else None
    asked = request_row(api_keys.METADATA, 3, 4, error_code=error, error_name=name)
    (start,) = rows_of(instance(gone), gone, [asked])["startups"]
    assert start.outcome == outcome


def test_a_producer_without_acks_is_ready_when_it_has_sent(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, 9_000, apis={api_keys.METADATA, api_keys.PRODUCE})
    startups = Startups(instance(one), CAPTURE)
    startups.on_open(one)
    sent = request_row(api_keys.PRODUCE, 5, status="no_response_expected")
    startups.on_request(sent)
    startups.on_request_without_response(sent)
    start = next(row for row in startups.finish() if isinstance(row, StartupRow))
    assert (start.outcome, start.ready_ns) == ("ready", 5 * MS)


def test_an_answer_to_a_connection_of_an_earlier_start_makes_nobody_ready(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """A broker that was paused answers a request whose connection the client has closed; it has opened another."""
    old = connection("c1", 0, 5_000, apis={api_keys.METADATA, api_keys.PRODUCE})
    new = connection("c2", 5_066, 9_000)
    startups = Startups(instance(old, new), CAPTURE)
    startups.on_open(old)
    first, late = request_row(api_keys.PRODUCE, 20, 30), request_row(api_keys.PRODUCE, 40, 5_076)
    startups.on_request(first)
    startups.on_answer(first)
    startups.on_request(late)
    startups.on_close(old, 5_000 * MS)
    startups.on_open(new)
    startups.on_answer(late)
    mine = request_row(api_keys.PRODUCE, 5_200, 5_210, conn_id="c2")
    startups.on_request(mine)
    startups.on_answer(mine)
    starts = [row for row in startups.finish() if isinstance(row, StartupRow)]
    assert [(s.start_no, s.ready_ns) for s in starts] == [(1, 30 * MS), (2, 5_210 * MS)]


def test_a_client_is_ready_when_one_topic_partition_of_several_is_served(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """The others have too few replicas, or no leader there: the client has its first acknowledgement, or record."""
    refused = {"error_code": 19, "error_name": "NOT_ENOUGH_REPLICAS", "n_partitions": 4}
    for key, n_records in ((api_keys.PRODUCE, 4), (api_keys.FETCH, 4)):
        one = connection("c1", 0, 9_000, apis={api_keys.METADATA, key})
        requests = [
            request_row(api_keys.METADATA, 5, 6),
            request_row(key, 10, 20, n_errors=4, n_records=None, **refused),
            request_row(key, 30, 40, n_errors=2, n_records=n_records, **refused),
            request_row(key, 50, 60, n_records=n_records),
        ]
        rows = rows_of(instance(one), one, requests)
        assert [(s.outcome, s.ready_ns) for s in rows["startups"]] == [("ready", 40 * MS)]
        path = [s for s in rows["startup_steps"] if s.on_critical_path]
        assert sum((s.duration_us or 0) + (s.wait_us or 0) for s in path) == 40_000


def test_a_client_whose_connections_were_all_gone_starts_again(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one, two = connection("c1", 0, 1_000, **CONSUMER), connection("c2", 3_000, 9_000, **CONSUMER)
    startups = Startups(instance(one, two), CAPTURE)
    for opened, at in ((one, 10), (two, 3_010)):
        startups.on_open(opened)
        fetch = request_row(api_keys.FETCH, at, at + 5, n_records=1, conn_id=opened.conn_id)
        startups.on_request(fetch)
        startups.on_answer(fetch)
        startups.on_close(opened, opened.close_ns or 0)
    starts = [row for row in startups.finish() if isinstance(row, StartupRow)]
    assert [(s.start_no, s.start_ns, s.outcome) for s in starts] == [(1, 0, "ready"), (2, 3_000 * MS, "ready")]


@pytest.mark.parametrize(("sent", "outcome"), [(8_600, "done"), (8_400, "gave_up")], ids=["in time", "overdue"])
def test_a_consumer_whose_first_fetch_still_waited_for_records_did_not_fail(
    sent: int, outcome: str, instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """It left, or something on the way cut the long poll: the broker may hold a Fetch for max_wait_ms."""
    gone = connection("c1", 0, 9_000, **CONSUMER)
    waiting = [request_row(api_keys.METADATA, 3, 4), request_row(api_keys.FETCH, sent, max_wait_ms=500)]
    (start,) = rows_of(instance(gone), gone, waiting)["startups"]
    assert (start.outcome, start.failed_step) == (outcome, None)


def test_a_client_that_comes_back_after_a_long_silence_starts_anew(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one, two = connection("c1", 0, 100, **CONSUMER), connection("c2", 50_000, 59_000, **CONSUMER)
    startups = Startups(instance(one, two), CAPTURE)
    startups.on_open(one)
    startups.on_close(one, one.close_ns or 0)
    startups.on_open(two)
    fetch = request_row(api_keys.FETCH, 50_010, 50_020, n_records=1, conn_id="c2")
    startups.on_request(fetch)
    startups.on_answer(fetch)
    starts = [row for row in startups.finish() if isinstance(row, StartupRow)]
    assert [(s.start_no, s.outcome) for s in starts] == [(1, "gave_up"), (2, "ready")]


def test_heartbeat_and_commit_after_ready_are_part_of_the_start_and_later_ones_not(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, 50_000, **CONSUMER)
    sent = [
        request_row(api_keys.JOIN_GROUP, 5, 9),
        request_row(api_keys.FETCH, 10, 20, n_records=1),
        request_row(api_keys.HEARTBEAT, 3_000, 3_001),
        request_row(api_keys.OFFSET_COMMIT, 5_000, 5_001),
        request_row(api_keys.HEARTBEAT, 6_000, 6_001),
        request_row(api_keys.METADATA, 9_000, 9_001),
    ]
    rows = rows_of(instance(one), one, sent)
    steps = [(s.step, s.phase, s.on_critical_path) for s in rows["startup_steps"]]
    assert steps[2:] == [
        ("first_records", "bootstrap", True),
        ("first_heartbeat", "steady", False),
        ("first_commit", "steady", False),
    ]
    assert rows["startups"][0].ready_ns == 20 * MS


def test_errors_inside_a_start_are_steps_of_it(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, 9_000, **CONSUMER)
    sent = [
        request_row(api_keys.API_VERSIONS, 1, 2, error_code=35, error_name="UNSUPPORTED_VERSION"),
        request_row(api_keys.API_VERSIONS, 3, 4),
        request_row(api_keys.METADATA, 5, 6, error_code=5, error_name="LEADER_NOT_AVAILABLE"),
        request_row(api_keys.METADATA, 105, 106),
        request_row(api_keys.JOIN_GROUP, 107, 108, group_id="g", error_code=79, error_name="MEMBER_ID_REQUIRED"),
        request_row(api_keys.JOIN_GROUP, 109, 3_109, group_id="g"),
        request_row(api_keys.FETCH, 3_110, 3_120, n_records=1),
    ]
    rows = rows_of(instance(one), one, sent)
    steps = [(s.step, s.attempt, s.error_name, s.wait_why, s.broker_why) for s in rows["startup_steps"]]
    assert steps[1:] == [
        ("api_versions", 1, "UNSUPPORTED_VERSION", "client", "work"),
        ("api_versions", 2, None, "client", "work"),
        ("metadata", 1, "LEADER_NOT_AVAILABLE", "client", "work"),
        ("metadata", 2, None, "backoff", "work"),
        ("join_group", 1, "MEMBER_ID_REQUIRED", "client", "work"),
        ("join_group", 2, None, "client", "rebalance"),
        ("first_records", 1, None, "client", "long_poll"),
    ]
    assert rows["startups"][0].outcome == "ready"


def test_an_error_that_only_the_failures_tell_is_the_steps(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, 9_000, apis={api_keys.PRODUCE}, transactional_ids={"t"})
    startups = Startups(instance(one), CAPTURE)
    startups.on_open(one)
    added = request_row(api_keys.ADD_PARTITIONS_TO_TXN, 5, 6, transactional_id="t")
    startups.on_request(added)
    startups.on_answer(
        added,
        [
            ErrorRun.of(
                {
                    "api_key": api_keys.ADD_PARTITIONS_TO_TXN,
                    "error_name": "CONCURRENT_TRANSACTIONS",
                    "topic": "t",
                    "partition": 0,
                    "transactional_id": "t",
                    "n": 1,
                }
            )
        ],
    )
    step = [row for row in startups.finish() if isinstance(row, StartupStepRow)][-1]
    assert (step.outcome, step.error_name) == ("error", "CONCURRENT_TRANSACTIONS")


def test_tls_is_a_step_between_the_connection_and_its_first_request(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, 9_000, tls=True, first_request_ns=8 * MS, **CONSUMER)
    rows = rows_of(instance(one), one, [request_row(api_keys.FETCH, 8, 9, n_records=1)])
    steps = [(s.step, s.start_ns, s.end_ns, s.on_critical_path) for s in rows["startup_steps"]]
    assert steps[1] == ("tls_handshake", MS // 2, 8 * MS, True)


def test_a_start_ends_where_a_time_begins_that_no_file_covers(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, None, **CONSUMER)
    sent = [
        request_row(api_keys.METADATA, 2, 3),
        request_row(api_keys.FETCH, 50_000, 50_010, n_records=7),
    ]
    rows = rows_of(instance(one), one, sent, Uncovered(((3 * MS, 50_000 * MS),)))
    assert [(start.outcome, start.ready_ns, start.total_us) for start in rows["startups"]] == [("cut", None, None)]
    assert [step.step for step in rows["startup_steps"]] == ["tcp_connect", "metadata"]
    (start,) = rows_of(instance(one), one, sent)["startups"]
    assert start.outcome == "ready"


def test_a_client_that_was_ready_stays_ready_over_such_a_time(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, None, **CONSUMER)
    sent = [
        request_row(api_keys.FETCH, 2, 3, n_records=7),
        request_row(api_keys.HEARTBEAT, 50_000, 50_010),
    ]
    rows = rows_of(instance(one), one, sent, Uncovered(((3 * MS, 50_000 * MS),)))
    assert [(start.outcome, start.ready_ns) for start in rows["startups"]] == [("ready", 3 * MS)]
    assert all(step.end_ns <= 3 * MS for step in rows["startup_steps"])


ENCRYPTED = {"protocol": "tls", "tls": True, "n_claimed": 20, "n_requests": 0, "software_name": None}


def test_an_encrypted_consumer_is_ready_at_the_end_of_its_first_long_poll(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, None, apis={api_keys.FETCH}, first_request_ns=9 * MS, **ENCRYPTED)
    sent = [request_row(api_keys.API_VERSIONS, 9, 12), request_row(api_keys.FETCH, 30, 530)]
    rows = rows_of(instance(one), one, sent)
    (start,) = rows["startups"]
    assert (start.outcome, start.claimed, start.ready_ns) == ("ready", True, 530 * MS)
    assert start.critical_path == ("tcp_connect", "tls_handshake", "first_exchange", "first_fetch")
    assert (start.expected_sequence, start.differences) == ("encrypted_consumer/unknown", {})


def test_an_encrypted_producer_is_ready_at_its_first_acknowledgement(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, None, apis={api_keys.PRODUCE}, first_request_ns=9 * MS, **ENCRYPTED)
    sent = [request_row(api_keys.API_VERSIONS, 9, 12), request_row(api_keys.PRODUCE, 30, 41)]
    (start,) = rows_of(instance(one), one, sent)["startups"]
    assert (start.outcome, start.ready_ns, start.missing_steps) == ("ready", 41 * MS, ())


def test_an_encrypted_client_that_was_answered_and_left_is_done_whatever_it_asked_for(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    one = connection("c1", 0, 80, apis={api_keys.API_VERSIONS}, first_request_ns=9 * MS, **ENCRYPTED)
    (start,) = rows_of(instance(one), one, [request_row(api_keys.API_VERSIONS, 9, 12)])["startups"]
    assert (start.outcome, start.ready_ns, start.claimed) == ("done", None, True)


def test_a_client_that_sends_nothing_after_the_tls_handshake_has_failed_at_it(
    instance: MakeInstance, connection: MakeConnection
) -> None:
    one = connection("c1", 0, 80, **ENCRYPTED | {"n_claimed": 0, "first_request_ns": None})
    (start,) = rows_of(instance(one), one, [])["startups"]
    assert (start.outcome, start.failed_step, start.error_name) == ("failed", "tls_handshake", "TLS_HANDSHAKE_FAILED")
