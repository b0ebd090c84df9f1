"""The ten errors that clients live with: what is right about each, and what is wrong, per library. (What is right
about LEADER_NOT_AVAILABLE is in test_recorded: clients of a topic whose only replica was down.)

Sequences are written as the wire shows them, from the clients' error handlers (protocol sources in the reaction
tables). A line is (sent ms, API, answered ms, error or None, what else the request says).
"""

from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, PartitionAccess
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.recoveries.resources import PARTITION_APIS
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
JAVA, RDKAFKA = "apache-kafka-java", "confluent-kafka-python"
GROUP = {"group_id": "g", "member_id": "m-1", "generation_or_epoch": 5}
FIND = {"coordinator_type": "group", "coordinator_key": "g"}
ELSEWHERE = {"conn_id": "c2", "node_id": 2}
Line = tuple[int, int, int, str | None, dict[str, Any]]


def every(gap_ms: int, n: int, api: int, error: str, **says: Any) -> list[Line]:
    return [(10 + i * gap_ms, api, 11 + i * gap_ms, error, says) for i in range(n)]


@pytest.fixture
def play(
    instance: Callable[..., Any], connection: Callable[..., Any], request_row: Callable[..., Any]
) -> Callable[..., ClientRecovery]:
    def run(software: str, lines: list[Line]) -> dict[str, Any]:
        used = {api_keys.METADATA, *(line[1] for line in lines)}
        first = connection("c1", 0, None, apis=used, software_name=software)
        second = connection("c2", 0, None, node_id=2, server="10.0.0.2:9092", software_name=software)
        watch = Recoveries(instance(first, second), CAPTURE)
        for at, api, answered, error, says in lines:
            request = request_row(api, at, answered, error_name=error, error_code=99 if error else 0, **says)
            watch.on_request(request)
            of_partition = api in PARTITION_APIS
            if of_partition:
                watch.on_access(access((request.request_id, request.conn_id, at * MS), api, False, 0))
            if of_partition and not error:
                watch.on_access(access((request.request_id, request.conn_id, answered * MS), api, True, 0))
            if api == api_keys.METADATA and not error:
                watch.on_access(access((request.request_id, request.conn_id, answered * MS), api, True, None))
            group = says.get("group_id")
            partition = 0 if of_partition else None
            topic = "t" if of_partition or api == api_keys.METADATA else None
            failures = (
                [
                    ErrorRun.of(
                        {
                            "request_id": request.request_id,
                            "api_key": api,
                            "error_name": error,
                            "topic": topic,
                            "partition": partition,
                            "group_id": group,
                            "n": 1,
                        }
                    )
                ]
                if error
                else []
            )
            watch.on_answer(request, failures)
        (row,) = [row for row in watch.finish() if isinstance(row, ClientRecovery)]
        return row

    return run


METADATA: Line = (20, api_keys.METADATA, 22, None, {})
NOT_LEADER = (10, api_keys.FETCH, 11, "NOT_LEADER_OR_FOLLOWER", {})
NO_LEADER = (10, api_keys.METADATA, 11, "LEADER_NOT_AVAILABLE", {})
MOVED = (10, api_keys.HEARTBEAT, 11, "NOT_COORDINATOR", GROUP)
LOADING = (10, api_keys.JOIN_GROUP, 11, "COORDINATOR_LOAD_IN_PROGRESS", GROUP)
OLD_GENERATION = (10, api_keys.HEARTBEAT, 11, "ILLEGAL_GENERATION", GROUP)
STALE = (10, api_keys.OFFSET_COMMIT, 11, "STALE_MEMBER_EPOCH", GROUP)
UNKNOWN = (10, api_keys.HEARTBEAT, 11, "UNKNOWN_MEMBER_ID", GROUP)
FENCED = (10, api_keys.HEARTBEAT, 11, "FENCED_INSTANCE_ID", GROUP)
OUT_OF_RANGE = (10, api_keys.FETCH, 11, "OFFSET_OUT_OF_RANGE", {})
DENIED = (10, api_keys.PRODUCE, 11, "TOPIC_AUTHORIZATION_FAILED", {})
JOINED: list[Line] = [
    (30, api_keys.JOIN_GROUP, 900, None, {**GROUP, "generation_or_epoch": -1}),
    (901, api_keys.SYNC_GROUP, 905, None, {**GROUP, "generation_or_epoch": 6}),
]

RIGHT: list[tuple[str, list[Line], str]] = [
    ("leader, java", [NOT_LEADER, METADATA, (30, api_keys.FETCH, 31, None, ELSEWHERE)], JAVA),
    ("leader, librdkafka", [NOT_LEADER, METADATA, (520, api_keys.FETCH, 521, None, ELSEWHERE)], RDKAFKA),
    ("coordinator", [MOVED, (20, 10, 21, None, FIND), (30, api_keys.HEARTBEAT, 31, None, GROUP | ELSEWHERE)], JAVA),
    (
        "loading",
        [LOADING, (111, api_keys.JOIN_GROUP, 112, LOADING[3], GROUP), *JOINED[:0], (333, 14, 335, None, GROUP)],
        JAVA,
    ),
    ("generation", [OLD_GENERATION, *JOINED], JAVA),
    ("generation, librdkafka", [OLD_GENERATION, *JOINED], RDKAFKA),
    ("stale epoch", [STALE, (20, api_keys.OFFSET_COMMIT, 21, None, {**GROUP, "generation_or_epoch": 6})], JAVA),
    ("unknown member", [UNKNOWN, *JOINED], JAVA),
    (
        "out of range",
        [OUT_OF_RANGE, (20, api_keys.LIST_OFFSETS, 21, None, {}), (22, api_keys.FETCH, 23, None, {})],
        JAVA,
    ),
    (
        "out of range, librdkafka",
        [OUT_OF_RANGE, (520, 2, 521, None, {}), (522, api_keys.FETCH, 523, None, {})],
        RDKAFKA,
    ),
]


@pytest.mark.parametrize(("lines", "software"), [case[1:] for case in RIGHT], ids=[case[0] for case in RIGHT])
def test_the_right_reaction_recovers(play: Callable[..., ClientRecovery], lines: list[Line], software: str) -> None:
    row = play(software, lines)
    assert (row.outcome, row.wrong_why) == ("recovered", None)
    assert row.first_error_name == lines[0][3]
    assert (row.start_ns, row.recovered_ns) == (11 * MS, lines[-1][2] * MS)
    lost = sum(row.lost_us.values())
    assert lost == (row.recovered_ns - row.start_ns) // 1000


@pytest.mark.parametrize(("error", "api"), [(FENCED[3], api_keys.HEARTBEAT), (DENIED[3], api_keys.PRODUCE)])
@pytest.mark.parametrize("software", [JAVA, RDKAFKA])
def test_what_is_fatal_is_rightly_left_alone(
    play: Callable[..., ClientRecovery], software: str, error: str, api: int
) -> None:
    says = GROUP if api == api_keys.HEARTBEAT else {}
    row = play(software, [(10, api, 11, error, says)])
    assert (row.outcome, row.reaction, row.recovered_ns) == ("fatal", "none", None)


SEARCHES: list[Line] = [
    line
    for at in range(100, 900, 200)
    for line in ((at, 10, at + 1, None, FIND), (at + 10, api_keys.JOIN_GROUP, at + 11, LOADING[3], GROUP))
]
WRONG: list[tuple[str, list[Line], str]] = [
    ("fetches on at the old leader", every(500, 8, api_keys.FETCH, NOT_LEADER[3]), "without hint or metadata"),
    ("produces on at the old leader", every(500, 8, api_keys.PRODUCE, NOT_LEADER[3]), "without hint or metadata"),
    ("asks for Metadata without a pause", every(2, 15, api_keys.METADATA, NO_LEADER[3]), "without a pause"),
    (
        "beats on at the old coordinator",
        every(1_000, 6, api_keys.HEARTBEAT, MOVED[3], **GROUP),
        "without find_coordinator",
    ),
    ("looks for a coordinator that loads", [LOADING, *SEARCHES], "find_coordinator 4 times"),
    ("commits the old generation", every(3_000, 8, api_keys.OFFSET_COMMIT, OLD_GENERATION[3], **GROUP), "join_group"),
    ("commits the old epoch", every(500, 8, api_keys.OFFSET_COMMIT, STALE[3], **GROUP), "without heartbeat"),
    ("beats on as nobody's member", every(3_000, 8, api_keys.HEARTBEAT, UNKNOWN[3], **GROUP), "join_group"),
    ("joins on as a fenced member", every(1_000, 6, api_keys.JOIN_GROUP, FENCED[3], **GROUP), "without an end"),
    ("fetches on outside the log", every(500, 8, api_keys.FETCH, OUT_OF_RANGE[3]), "list_offsets"),
    ("pesters for what is denied", every(20, 80, api_keys.PRODUCE, DENIED[3]), "not allowed"),
]


@pytest.mark.parametrize(("lines", "why"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
@pytest.mark.parametrize("software", [JAVA, RDKAFKA, "sarama"])
def test_the_wrong_reaction_is_named(
    play: Callable[..., ClientRecovery], software: str, lines: list[Line], why: str
) -> None:
    row = play(software, lines)
    assert row.outcome == "wrong_reaction", row
    assert why in row.wrong_why


def test_a_wrong_reaction_stays_wrong_when_it_works_in_the_end(play: Callable[..., ClientRecovery]) -> None:
    lines = [*every(500, 8, api_keys.FETCH, NOT_LEADER[3]), (9_000, api_keys.FETCH, 9_001, None, {})]
    row = play(JAVA, lines)
    assert (row.outcome, row.recovered_ns) == ("wrong_reaction", 9_001 * MS)


def test_requests_in_flight_when_the_error_came_prove_nothing(play: Callable[..., ClientRecovery]) -> None:
    """Five Produce requests are on their way when the first error arrives, and are answered late."""
    lines: list[Line] = [
        (10, api_keys.PRODUCE, 4_000 + i * 500, NOT_LEADER[3], {"request_id": f"r{i}"}) for i in range(5)
    ]
    row = play(JAVA, lines)
    assert row.outcome == "still_open"
