from collections.abc import Callable

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, PartitionAccess, Request
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep
from kafkascope_spark.stories.recoveries.tracker import Recoveries

MS = 1_000_000


def access(
    of: tuple[str, str, int], api_key: int, answered: bool, partition: int | None, **marks: bool
) -> PartitionAccess:
    """A topic-partition that a message names. of: the request, connection and time; marks: hints, unanswered."""
    request_id, conn_id, ts_ns = of
    values = {"request_id": request_id, "api_key": api_key, "answered": answered, "topic": "t", "partition": partition}
    made = PartitionAccess.of(values | marks)
    made.conn_id, made.ts_ns = conn_id, ts_ns
    return made


CAPTURE = (0, 600_000 * MS)
MakeInstance = Callable[..., Instance]
MakeConnection = Callable[..., Connection]
MakeRequest = Callable[..., Request]


@pytest.fixture
def watch(instance: MakeInstance, connection: MakeConnection) -> Recoveries:
    used = {api_keys.METADATA, api_keys.PRODUCE}
    ends = {"node_id": 2, "server": "10.0.0.2:9092"}
    return Recoveries(instance(connection("c1", 0, None, apis=used), connection("c2", 0, None, **ends)), CAPTURE)


def failed(
    name: str, api_key: int, topic: str | None = "t", partition: int | None = 0, group: str | None = None
) -> ErrorRun:
    return ErrorRun.of(
        {"api_key": api_key, "error_name": name, "topic": topic, "partition": partition, "group_id": group, "n": 1}
    )


def episodes(watch: Recoveries) -> list[ClientRecovery]:
    return [row for row in watch.finish() if isinstance(row, ClientRecovery)]


def produce_error(watch: Recoveries, request_row: MakeRequest, at: int, name: str = "NOT_LEADER_OR_FOLLOWER") -> None:
    sent = request_row(api_keys.PRODUCE, at, at + 1, error_code=6, error_name=name)
    watch.on_request(sent)
    watch.on_answer(sent, [failed(name, api_keys.PRODUCE)])


def test_a_moved_leader_from_error_to_the_first_success_elsewhere(watch: Recoveries, request_row: MakeRequest) -> None:
    produce_error(watch, request_row, 10)
    produce_error(watch, request_row, 12)
    metadata = request_row(api_keys.METADATA, 20, 25)
    watch.on_request(metadata)
    watch.on_answer(metadata, [])
    watch.on_access(access(("c2-0-30", "c2", 30 * MS), api_keys.PRODUCE, False, 0))
    watch.on_access(access(("c2-0-30", "c2", 33 * MS), api_keys.PRODUCE, True, 0))
    (row,) = episodes(watch)
    rows = {
        k: getattr(row, k)
        for k in ("resource", "outcome", "n_errors", "n_wasted_requests", "old_node_id", "new_node_id")
    }
    assert rows == {
        "resource": "t-0",
        "outcome": "recovered",
        "n_errors": 2,
        "n_wasted_requests": 2,
        "old_node_id": 1,
        "new_node_id": 2,
    }
    times = [getattr(row, k) // MS for k in ("start_ns", "refreshed_ns", "retried_ns", "recovered_ns")]
    assert times == [11, 25, 12, 33]
    assert (row.n_stale_requests, row.stale_us) == (1, 1_000)
    assert not row.storm


@pytest.mark.parametrize(("n", "gap", "storm"), [(11, 50, True), (11, 150, False), (50, 150, False), (51, 150, True)])
def test_a_storm_is_eleven_in_a_second_or_fifty_one(
    watch: Recoveries, request_row: MakeRequest, n: int, gap: int, storm: bool
) -> None:
    for i in range(n):
        produce_error(watch, request_row, 10 + i * gap, "NOT_ENOUGH_REPLICAS")
    (row,) = episodes(watch)
    assert (row.storm, row.n_errors, row.outcome) == (storm, n, "still_open")


@pytest.mark.parametrize("in_runs", [False, True], ids=["one by one", "as a run"])
def test_requests_on_their_way_together_that_are_refused_once_each_are_no_storm(
    watch: Recoveries, request_row: MakeRequest, in_runs: bool
) -> None:
    """As a producer without a limit of requests in flight that learns of a moved leader."""
    moved, key = "NOT_LEADER_OR_FOLLOWER", api_keys.PRODUCE
    if in_runs:
        run = failed(moved, key)
        run.n, run.ts_ns, run.last_ns, run.last_sent_ns = 23, 40 * MS, 44 * MS, 12 * MS
        watch.on_error_run(run, request_row(key, 10, 40, error_code=6, error_name=moved))
    for i in range(0 if in_runs else 23):
        watch.on_answer(request_row(key, 10, 40 + i, error_code=6, error_name=moved), [failed(moved, key)])
    (row,) = episodes(watch)
    assert (row.storm, row.n_errors) == (False, 23)


def test_the_protocols_normal_course_is_no_episode(watch: Recoveries, request_row: MakeRequest) -> None:
    for name in ("MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS"):
        join = request_row(api_keys.JOIN_GROUP, 10, 11, group_id="g", error_code=79, error_name=name)
        watch.on_answer(join, [failed(name, api_keys.JOIN_GROUP, None, None, "g")])
    old = request_row(api_keys.API_VERSIONS, 10, 11, error_code=35, error_name="UNSUPPORTED_VERSION")
    watch.on_answer(old, [failed("UNSUPPORTED_VERSION", api_keys.API_VERSIONS, None, None)])
    assert episodes(watch) == []


@pytest.mark.parametrize(("accepted", "found"), [(900, []), (1_100, ["recovered"])])
def test_the_transaction_before_may_take_a_moment_to_end(
    watch: Recoveries, request_row: MakeRequest, accepted: int, found: list[str]
) -> None:
    refused = ErrorRun.of(
        {"api_key": api_keys.END_TXN, "error_name": "CONCURRENT_TRANSACTIONS", "transactional_id": "tx", "n": 1}
    )
    result = {"transactional_id": "tx", "error_code": 51, "error_name": "CONCURRENT_TRANSACTIONS"}
    for at in (10, 200):
        request = request_row(api_keys.END_TXN, at, at + 1, **result)
        watch.on_request(request)
        watch.on_answer(request, [refused])
    again = request_row(api_keys.END_TXN, accepted - 1, accepted, transactional_id="tx")
    watch.on_request(again)
    watch.on_answer(again, [])
    assert [row.outcome for row in episodes(watch)] == found


def test_a_lost_coordinator_ends_with_the_groups_next_answer(watch: Recoveries, request_row: MakeRequest) -> None:
    beat = request_row(api_keys.HEARTBEAT, 10, 11, group_id="g", error_code=16, error_name="NOT_COORDINATOR")
    watch.on_answer(beat, [failed("NOT_COORDINATOR", api_keys.HEARTBEAT, None, None, "g")])
    find = request_row(api_keys.FIND_COORDINATOR, 20, 21, coordinator_type="group", coordinator_key="g")
    watch.on_request(find)
    watch.on_answer(find, [])
    again = request_row(api_keys.HEARTBEAT, 30, 31, group_id="g", conn_id="c2", node_id=2)
    watch.on_request(again)
    watch.on_answer(again, [])
    (row,) = episodes(watch)
    assert (row.resource_kind, row.resource, row.outcome) == ("coordinator", "g", "recovered")
    assert (row.rediscovered_ns, row.recovered_ns) == (21 * MS, 31 * MS)


def test_a_coordinator_that_loads_answers_heartbeats_blindly(watch: Recoveries, request_row: MakeRequest) -> None:
    """As recorded of a librdkafka consumer: Heartbeat is answered, OffsetCommit refused until the load is over."""
    answers = [
        (api_keys.OFFSET_COMMIT, 300, "COORDINATOR_LOAD_IN_PROGRESS"),
        (api_keys.HEARTBEAT, 695, None),
        (api_keys.OFFSET_COMMIT, 789, "COORDINATOR_LOAD_IN_PROGRESS"),
        (api_keys.OFFSET_COMMIT, 1_273, None),
    ]
    for api, at, error in answers:
        said = {"error_code": 14, "error_name": error} if error else {}
        request = request_row(api, at - 4, at, group_id="g", **said)
        watch.on_request(request)
        watch.on_answer(request, [failed(error, api, None, None, "g")] if error else [])
    (row,) = episodes(watch)
    assert (row.resource, row.n_errors, row.outcome) == ("g", 2, "recovered")
    assert (row.start_ns, row.recovered_ns) == (300 * MS, 1_273 * MS)


def test_a_fenced_member_is_fatal(watch: Recoveries, request_row: MakeRequest) -> None:
    beat = request_row(api_keys.HEARTBEAT, 10, 11, group_id="g", error_code=82, error_name="FENCED_INSTANCE_ID")
    watch.on_answer(beat, [failed("FENCED_INSTANCE_ID", api_keys.HEARTBEAT, None, None, "g")])
    (row,) = episodes(watch)
    assert (row.resource_kind, row.outcome) == ("group", "fatal")


def test_a_server_that_died_is_back_when_a_new_connection_answers(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    died = connection("c1", 0, 100, close_kind="fin_server", idle_ms=1)
    refused = connection("c2", 150, 150, close_kind="refused", up_ns=None, first_request_ns=None, n_requests=0)
    back = connection("c3", 400, None)
    watch = Recoveries(instance(died, refused, back), CAPTURE)
    worked = request_row(api_keys.PRODUCE, 5, 6)
    watch.on_answer(worked, [])
    watch.on_close(died, 100 * MS)
    watch.on_open(refused)
    watch.on_close(refused, 150 * MS)
    watch.on_open(back)
    watch.on_up(back)
    hello = request_row(api_keys.API_VERSIONS, 405, 410, conn_id="c3")
    watch.on_request(hello)
    watch.on_answer(hello, [])
    (row,) = episodes(watch)
    assert (row.resource_kind, row.resource) == ("connection", "10.0.0.1:9092")
    assert row.error_names == ("CONNECTION_CLOSED", "CONNECTION_REFUSED")
    times = (row.start_ns, row.retried_ns, row.reconnected_ns, row.recovered_ns)
    assert times == (100 * MS, 150 * MS, back.up_ns, 410 * MS)


def test_a_handshake_proves_nothing_when_that_was_all_there_was(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """A plain client on a SASL listener: ApiVersions is answered, then the broker closes, again and again."""
    first = connection("c1", 0, 100, close_kind="fin_server", idle_ms=1)
    second = connection("c2", 200, 300, close_kind="fin_server", idle_ms=1)
    watch = Recoveries(instance(first, second), CAPTURE)
    for opened, at in ((first, 5), (second, 205)):
        watch.on_open(opened)
        hello = request_row(api_keys.API_VERSIONS, at, at + 1, conn_id=opened.conn_id)
        watch.on_request(hello)
        watch.on_answer(hello, [])
        watch.on_close(opened, opened.close_ns or 0)
    (row,) = episodes(watch)
    assert (row.n_errors, row.outcome) == (2, "client_ended")


def test_a_server_that_hangs_up_on_sasl_failed_the_authentication_not_the_connection(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    hung_up = connection("c1", 0, 100, close_kind="fin_server", idle_ms=1, sasl_mechanism="PLAIN")
    dying = connection("c2", 200, 300, close_kind="fin_server", idle_ms=1, refused_after=3, server="10.0.0.2:9092")
    watch = Recoveries(instance(hung_up, dying), CAPTURE)
    watch.on_request(request_row(api_keys.SASL_AUTHENTICATE, 50))
    watch.on_close(hung_up, 100 * MS)
    watch.on_request(request_row(api_keys.SASL_AUTHENTICATE, 250, conn_id="c2"))
    watch.on_close(dying, 300 * MS)
    first, second = episodes(watch)
    assert (first.resource_kind, first.first_error_name) == ("authentication", "AUTHENTICATION_CLOSED")
    assert (second.resource_kind, second.first_error_name) == ("connection", "CONNECTION_CLOSED")
    assert first.failing_ns == 50 * MS


def test_a_quota_that_silences_the_client_is_told_until_an_answer_that_does_not(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    watch = Recoveries(instance(connection("c1", 0, None)), CAPTURE)
    for at, throttle_ms in ((10, 200), (20, 3_000), (3_100, 2_500), (5_700, 0)):
        answered = request_row(api_keys.PRODUCE, at, at + 5, throttle_ms=throttle_ms, api_name="Produce")
        watch.on_request(answered)
        watch.on_answer(answered, [])
    (row,) = episodes(watch)
    assert (row.first_error_name, row.resource, row.n_errors) == ("THROTTLED", "quota: Produce", 2)
    assert (row.start_ns, row.recovered_ns) == (25 * MS, 5_705 * MS)
    assert row.lost_broker_us == 5_680_000


def test_answers_that_come_late_show_how_long_the_broker_was_silent(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """A coordinator and leader whose link is cut for 17 s: nothing is closed, both connections go on after it."""
    watch = Recoveries(instance(connection("c1", 0, None), connection("c2", 0, None)), CAPTURE)
    late = {"in_flight": 1}
    watch.on_answer(request_row(api_keys.HEARTBEAT, 3_000, 30_000, **late), [])
    watch.on_answer(request_row(api_keys.FETCH, 2_000, 30_001, conn_id="c2", max_wait_ms=500, **late), [])
    watch.on_answer(request_row(api_keys.HEARTBEAT, 90_000, 99_000, throttle_ms=9_000, **late), [])
    row, quota = episodes(watch)
    assert quota.first_error_name == "THROTTLED"
    assert (row.resource, row.first_error_name, row.outcome) == ("10.0.0.1:9092", "RESPONSE_LATE", "recovered")
    assert (row.failing_ns, row.start_ns, row.recovered_ns) == (3_000 * MS, 8_000 * MS, 30_000 * MS)
    assert row.lost_broker_us == 22_000_000


def test_another_connection_to_a_silent_server_shows_that_the_client_gave_up(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """As recorded of a Java producer (request.timeout.ms 8 s) whose connection a firewall forgot: the FIN of the old
    one waits behind data that TCP sends again and again, so that the capture never shows its end."""
    old = connection("c1", 0, None, last_request_ns=29_833 * MS)
    new = connection("c2", 37_933, None)
    watch = Recoveries(instance(old, new), CAPTURE)
    watch.on_request(request_row(api_keys.PRODUCE, 29_833))
    watch.on_open(new)
    watch.on_up(new)
    watch.on_answer(request_row(api_keys.PRODUCE, 37_947, 37_950, conn_id="c2"), [])
    (row,) = episodes(watch)
    assert (row.first_error_name, row.outcome) == ("REQUEST_UNANSWERED", "recovered")
    assert (row.failing_ns, row.start_ns) == (29_833 * MS, 37_933 * MS - 1)
    assert (row.recovered_ns, row.reaction) == (37_950 * MS, "retry, reconnect")


@pytest.mark.parametrize(
    ("answered_ms", "idle_ms"), [(29_000, 833), (None, None), (30_000, None)], ids=["idle", "never used", "in use"]
)
def test_a_lost_connection_says_what_it_was_used_for_and_how_long_it_had_been_idle(
    answered_ms: int | None,
    idle_ms: int | None,
    instance: MakeInstance,
    connection: MakeConnection,
    request_row: MakeRequest,
) -> None:
    """A response that came after the request which has none shows that the connection was in use then."""
    answered_ns = None if answered_ms is None else answered_ms * MS
    old = connection("c1", 0, 40_000, close_kind="rst_server", idle_ms=None, last_answered_ns=answered_ns)
    watch = Recoveries(instance(old), CAPTURE)
    watch.on_request(request_row(api_keys.PRODUCE, 29_833, api_name="Produce"))
    watch.on_close(old, 40_000 * MS)
    (row,) = (each for each in episodes(watch) if each.resource_kind == "connection")
    assert (row.failing_ns, row.failing_api, row.idle_ms) == (29_833 * MS, "Produce", idle_ms)


def test_a_connection_beside_one_that_is_used_or_just_asked_gives_nothing_up(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    used = connection("c1", 0, None, last_request_ns=50_000 * MS)
    asked = connection("c2", 0, None, last_request_ns=35_000 * MS)
    new = connection("c3", 37_933, None)
    watch = Recoveries(instance(used, asked, new), (0, 38_000 * MS))
    watch.on_request(request_row(api_keys.PRODUCE, 29_833))
    watch.on_request(request_row(api_keys.PRODUCE, 35_000, conn_id="c2"))
    watch.on_open(new)
    watch.on_answer(request_row(api_keys.PRODUCE, 37_947, 37_950, conn_id="c3"), [])
    assert [row.recovered_ns for row in episodes(watch)] == [None]


@pytest.mark.parametrize(("left_ms", "paused_ms"), [(2_500, 2_495), (None, 599_995)])
def test_a_client_that_left_waits_for_nothing_after_that(
    watch: Recoveries, request_row: MakeRequest, left_ms: int | None, paused_ms: int
) -> None:
    """Not to the end of the capture, which goes on for ten minutes."""
    failed_fetch = request_row(api_keys.FETCH, 2, 5, error_code=1, error_name="OFFSET_OUT_OF_RANGE")
    watch.on_answer(failed_fetch, [failed("OFFSET_OUT_OF_RANGE", api_keys.FETCH)])
    left_ns = None if left_ms is None else left_ms * MS
    (row,) = [row for row in watch.finish(left_ns) if isinstance(row, ClientRecovery)]
    assert row.recovered_ns is None
    assert row.client_id == "app"
    lost_us = sum(row.lost_us.values())
    assert lost_us == paused_ms * 1000


def test_a_lost_fetch_session_is_a_step_of_the_servers_return(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    died = connection("c1", 0, 100, close_kind="fin_server", idle_ms=1)
    watch = Recoveries(instance(died, connection("c2", 400, None)), CAPTURE)
    watch.on_close(died, 100 * MS)
    fetch = request_row(api_keys.FETCH, 500, 505, conn_id="c3", error_code=70, error_name="FETCH_SESSION_ID_NOT_FOUND")
    lost = ErrorRun.of({"api_key": api_keys.FETCH, "error_name": "FETCH_SESSION_ID_NOT_FOUND", "n": 1})
    watch.on_answer(fetch, [lost])
    rows = list(watch.finish())
    assert [r.error_names for r in rows if isinstance(r, ClientRecovery)] == [("CONNECTION_CLOSED",)]
    steps = [r.error_name for r in rows if isinstance(r, RecoveryStep)]
    assert "FETCH_SESSION_ID_NOT_FOUND" in steps


@pytest.mark.parametrize(("kind", "error"), [("rst_server", "CONNECTION_RESET"), ("fin_client", "REQUEST_UNANSWERED")])
def test_a_lost_broker_breaks_what_was_asked_of_it(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest, kind: str, error: str
) -> None:
    """One Produce was answered, one was not; the second topic-partition works at another broker later."""
    lost = connection("c1", 0, 20_000, close_kind=kind, apis={api_keys.PRODUCE})
    other = connection("c2", 0, None, node_id=2, server="10.0.0.2:9092", last_request_ns=30_000 * MS)
    watch = Recoveries(instance(lost, other), CAPTURE)
    watch.on_request(request_row(api_keys.PRODUCE, 5, 6))
    sent = request_row(api_keys.PRODUCE, 10)
    watch.on_request(sent)
    for partition in (0, 1):
        watch.on_access(access((sent.request_id, "c1", 10 * MS), api_keys.PRODUCE, False, partition, unanswered=True))
    watch.on_close(lost, 20_000 * MS)
    watch.on_access(access(("c2-1", "c2", 20_050 * MS), api_keys.PRODUCE, False, 1))
    watch.on_access(access(("c2-1", "c2", 20_060 * MS), api_keys.PRODUCE, True, 1))
    rows = {row.resource: row for row in episodes(watch)}
    assert sorted(rows) == ["10.0.0.1:9092", "t-0", "t-1"]
    assert {row.first_error_name for row in rows.values()} == {error}
    second = [
        getattr(rows["t-1"], k)
        for k in ("outcome", "failing_ns", "start_ns", "recovered_ns", "old_node_id", "new_node_id")
    ]
    assert second == ["recovered", 10 * MS, 20_000 * MS, 20_060 * MS, 1, 2]
    assert rows["t-0"].outcome == "still_open"


def test_a_client_that_ends_waits_for_nothing(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    ended = connection("c1", 0, 20, close_kind="fin_client")
    watch = Recoveries(instance(ended), CAPTURE)
    watch.on_request(request_row(api_keys.FETCH, 10))
    watch.on_access(access(("c1-1-10", "c1", 10 * MS), api_keys.FETCH, False, 0, unanswered=True))
    watch.on_close(ended, 20 * MS)
    assert episodes(watch) == []


@pytest.mark.parametrize(("apis", "expected"), [({api_keys.PRODUCE}, ["REQUEST_UNANSWERED"]), ({api_keys.FETCH}, [])])
def test_one_more_connection_to_produce_shows_it_however_short_the_timeout(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest, apis: set[int], expected: list[str]
) -> None:
    """As recorded of a Java producer with request.timeout.ms=3000 whose connection a middlebox had forgotten."""
    old, new = connection("c1", 0, 20_000, last_request_ns=5_000 * MS), connection("c2", 8_100, None, apis=apis)
    watch = Recoveries(instance(old, new), CAPTURE)
    watch.on_request(request_row(api_keys.PRODUCE, 5_000))
    watch.on_open(new)
    watch.on_answer(request_row(api_keys.METADATA, 8_110, 8_120, conn_id="c2"), [])
    assert [row.first_error_name for row in episodes(watch)] == expected


def test_an_error_that_came_after_the_client_had_left_is_a_step_of_the_lost_connection(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """As recorded of a broker that was paused for 13 s: the producer had closed after 4 s, and produced elsewhere."""

    def rows(last_request_ms: int) -> list[ClientRecovery]:
        lost = connection("c1", 0, 4_100)
        elsewhere = {"server": "10.0.0.2:9092", "node_id": 2, "last_request_ns": last_request_ms * MS}
        watch = Recoveries(instance(lost, connection("c2", 0, None, **elsewhere)), CAPTURE)
        sent = request_row(api_keys.PRODUCE, 50)
        watch.on_request(sent)
        watch.on_close(lost, 4_100 * MS)
        watch.on_late_answer(sent, 13_000 * MS, [failed("NOT_LEADER_OR_FOLLOWER", api_keys.PRODUCE)])
        return episodes(watch)

    assert rows(last_request_ms=4_000) == [], "a client that ended waits for nothing"
    (row,) = rows(last_request_ms=9_000)
    assert row.error_names == ("REQUEST_UNANSWERED", "NOT_LEADER_OR_FOLLOWER")
    assert (row.resource_kind, row.n_errors, row.outcome) == ("connection", 1, "still_open")


def test_a_request_sent_after_the_servers_close_is_lost_at_once(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """As recorded of an aiokafka consumer: FIN at 41.906 s, Fetch at 41.980 s, RST; it fetched elsewhere from 42.3 s
    on, and the server was back at 60.4 s."""
    closed = connection("c1", 0, 41_906, close_kind="fin_server", idle_ms=7, last_request_ns=41_980 * MS)
    other = {"server": "10.0.0.2:9092", "node_id": 2}
    watch = Recoveries(instance(closed, connection("c2", 0, None, **other), connection("c3", 60_424, None)), CAPTURE)
    watch.on_answer(request_row(api_keys.FETCH, 41_900, 41_905), [])
    watch.on_close(closed, 41_906 * MS)
    lost = request_row(api_keys.FETCH, 41_980)
    watch.on_request(lost)
    watch.on_access(access((lost.request_id, "c1", lost.ts_ns), api_keys.FETCH, False, 0, unanswered=True))
    for at, answered in ((42_300, False), (42_310, True)):
        watch.on_access(access(("c2-1-42300", "c2", at * MS), api_keys.FETCH, answered, 0))
    watch.on_open(connection("c3", 60_424, None))
    rows = {row.resource: row for row in episodes(watch)}
    assert (rows["t-0"].first_error_name, rows["t-0"].outcome) == ("CONNECTION_CLOSED", "recovered")
    assert (rows["t-0"].start_ns, rows["t-0"].recovered_ns) == (41_980 * MS, 42_310 * MS)
    assert rows["10.0.0.1:9092"].start_ns == 41_906 * MS


def test_a_request_that_crosses_the_close_of_an_idle_connection_is_lost(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    ended = {"close_kind": "fin_server", "idle_ms": 590_000, "near_idle_ms": 590_000}
    idle = connection("c1", 0, 600_000, last_request_ns=600_005 * MS, **ended)
    watch = Recoveries(instance(idle, connection("c2", 600_200, None)), (0, 700_000 * MS))
    watch.on_close(idle, 600_000 * MS)
    watch.on_request(request_row(api_keys.PRODUCE, 600_005))
    watch.on_open(connection("c2", 600_200, None))
    watch.on_answer(request_row(api_keys.PRODUCE, 600_250, 600_260, conn_id="c2"), [])
    (row,) = episodes(watch)
    assert (row.start_ns, row.recovered_ns) == (600_005 * MS, 600_260 * MS)
    assert row.n_wasted_requests == 1


COORDINATOR = {"group_id": "g", "member_id": "m", "generation_or_epoch": 3}


def lose_coordinator(
    watch: Recoveries, died: Connection, request_row: MakeRequest, in_flight_since: int | None = None
) -> None:
    """A heartbeat is answered, then the connection to the coordinator ends, with a heartbeat in flight or without."""
    watch.on_answer(request_row(api_keys.HEARTBEAT, 10, 11, **COORDINATOR), [])
    if in_flight_since is not None:
        watch.on_request(request_row(api_keys.HEARTBEAT, in_flight_since, **COORDINATOR))
    watch.on_close(died, died.close_ns or 0)


def coordinators(watch: Recoveries) -> list[ClientRecovery]:
    return [row for row in episodes(watch) if row.resource_kind == "coordinator"]


def test_a_coordinator_is_lost_with_the_requests_that_it_owes(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """A member that never gets its group back has not recovered, whatever connections it opens."""
    died = connection("c1", 0, 100, close_kind="fin_server", idle_ms=1)
    watch = Recoveries(instance(died, connection("c2", 400, None)), CAPTURE)
    lose_coordinator(watch, died, request_row, in_flight_since=95)
    watch.on_open(connection("c2", 400, None))
    watch.on_answer(request_row(api_keys.METADATA, 410, 411, conn_id="c2"), [])
    (row,) = coordinators(watch)
    assert (row.resource, row.first_error_name, row.outcome) == ("g", "CONNECTION_CLOSED", "still_open")
    assert (row.start_ns, row.failing_ns) == (100 * MS, 95 * MS)


def test_a_member_without_a_request_in_flight_lost_its_coordinator_when_the_connection_ended(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    died = connection("c1", 0, 100, close_kind="fin_server", idle_ms=1)
    other = {"conn_id": "c2", "node_id": 2}
    watch = Recoveries(instance(died, connection("c2", 0, None, server="10.0.0.2:9092", node_id=2)), CAPTURE)
    lose_coordinator(watch, died, request_row)
    for i in range(60):
        find = request_row(api_keys.FIND_COORDINATOR, 120 + i, 120 + i, coordinator_key="g", **other)
        watch.on_request(find)
        watch.on_answer(find, [])
    beat = request_row(api_keys.HEARTBEAT, 7_000, 7_001, **COORDINATOR, **other)
    watch.on_request(beat)
    watch.on_answer(beat, [])
    (row,) = coordinators(watch)
    assert (row.start_ns, row.recovered_ns, row.outcome) == (100 * MS, 7_001 * MS, "recovered")
    assert (row.n_errors, row.n_wasted_requests, row.storm) == (1, 59, True)


def test_a_coordinator_that_nobody_needs_is_not_missed(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest
) -> None:
    """A producer between two transactions: it has work for its coordinator when it looks for it again."""
    died = connection("c1", 0, 100, close_kind="fin_server", idle_ms=1)
    clients = instance(died, connection("c2", 0, None, server="10.0.0.2:9092", node_id=2))
    ended = request_row(api_keys.END_TXN, 10, 11, transactional_id="tx")
    find = request_row(api_keys.FIND_COORDINATOR, 60_000, 60_001, coordinator_key="tx", conn_id="c2")
    begun = request_row(api_keys.INIT_PRODUCER_ID, 60_010, 60_020, transactional_id="tx", conn_id="c2")
    for later in ([], [find, begun]):
        watch = Recoveries(clients, CAPTURE)
        watch.on_answer(ended, [])
        watch.on_close(died, 100 * MS)
        for request in later:
            watch.on_request(request)
            watch.on_answer(request, [])
        spans = [(row.start_ns // MS, row.recovered_ns // MS) for row in coordinators(watch)]
        assert spans == ([(59_999, 60_020)] if later else [])


@pytest.mark.parametrize(
    ("error", "found"), [("FENCED_LEADER_EPOCH", ["still_open"]), ("UNKNOWN_TOPIC_OR_PARTITION", [])]
)
def test_a_consumer_that_never_learns_where_to_begin_is_no_administrator(
    instance: MakeInstance, connection: MakeConnection, request_row: MakeRequest, error: str, found: list[str]
) -> None:
    """It sends nothing but ListOffsets (https://github.com/confluentinc/librdkafka/issues/4620). A question about what
    is not there is none of its own."""
    watch = Recoveries(instance(connection("c1", 0, None, apis={api_keys.LIST_OFFSETS})), CAPTURE)
    sent = request_row(api_keys.LIST_OFFSETS, 10, 11, error_code=74, error_name=error)
    watch.on_answer(sent, [failed(error, api_keys.LIST_OFFSETS)])
    assert [row.outcome for row in episodes(watch)] == found


@pytest.mark.parametrize(("partition", "found"), [(None, True), (0, False)])
def test_an_error_about_a_topic_names_no_partition(
    watch: Recoveries, request_row: MakeRequest, partition: int | None, found: bool
) -> None:
    """A broker that has just created a topic knows no partitions of it; it names those that lost their leaders."""
    asked = request_row(api_keys.METADATA, 10, 11, error_code=5, error_name="LEADER_NOT_AVAILABLE")
    watch.on_answer(asked, [failed("LEADER_NOT_AVAILABLE", api_keys.METADATA, "t", partition)])
    assert [row.of_topic for row in episodes(watch)] == [found]


@pytest.mark.parametrize(("member_id", "found"), [("", True), ("m-1", False)])
def test_a_commit_that_names_no_member_is_that_of_an_outsider(
    watch: Recoveries, request_row: MakeRequest, member_id: str, found: bool
) -> None:
    """A consumer with assign() commits to a group that others joined, with generation -1 and no member id
    (https://github.com/confluentinc/confluent-kafka-dotnet/issues/1464)."""
    who = {"group_id": "g", "member_id": member_id, "error_code": 25, "error_name": "UNKNOWN_MEMBER_ID"}
    sent = request_row(api_keys.OFFSET_COMMIT, 10, 11, **who)
    watch.on_answer(sent, [failed("UNKNOWN_MEMBER_ID", api_keys.OFFSET_COMMIT, "t", 0, "g")])
    assert [row.of_outsider for row in episodes(watch)] == [found]
