"""The state machine without Spark: its input order, its batches, its ties."""

from collections.abc import Callable

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.connections import ConnectionEvent, Usage
from kafkascope_analyzer.dataset.tables.event_kinds.event import MOMENT, WHOLE
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, PartitionAccess, Request
from kafkascope_analyzer.dataset.tables.events import RANKS
from kafkascope_parsers.api_keys import ADD_PARTITIONS_TO_TXN
from kafkascope_spark.stories.clients.machine import ClientStories
from kafkascope_spark.stories.clients.table import ClientRow
from kafkascope_spark.stories.clients.timeline import Kind, Timeline
from kafkascope_spark.stories.event_decoder import EventRow
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.table import Recovery
from kafkascope_spark.stories.stalls.stall import StallLimits
from kafkascope_spark.stories.stalls.table import Stall

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


def row(client_ip: str, conn_id: str, first_ms: int) -> EventRow:
    columns = {
        "first_ns": first_ms * MS,
        "syn_ns": first_ms * MS,
        "n_requests": 1,
        "client_port": 1,
        "protocol": "kafka",
    }
    event = ConnectionEvent.of(columns)
    event.conn_id, event.ts_ns = conn_id, first_ms * MS
    return (client_ip, WHOLE, first_ms * MS, RANKS["connection"]), event


def events() -> list[EventRow]:
    return [row(ip, f"{ip}-{at}", at) for ip in ("10.0.0.1", "10.0.0.2") for at in (1, 5)]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_batches_do_not_matter(size: int) -> None:
    stories = ClientStories((0, 9_000 * MS), StallLimits(9_000 * MS, 1_000 * MS))
    rows = events()
    made = [r for at in range(0, len(rows), size) for r in stories.feed(rows[at : at + size])]
    made += stories.finish()
    whole = ClientStories((0, 9_000 * MS), StallLimits(9_000 * MS, 1_000 * MS))
    assert made == [*whole.feed(rows), *whole.finish()]
    assert [row.client_ip for row in made if isinstance(row, ClientRow)] == ["10.0.0.1", "10.0.0.2"]


@pytest.mark.parametrize("swap", [(0, 1), (0, 2), (1, 3)])
def test_rows_out_of_order_are_refused(swap: tuple[int, int]) -> None:
    rows = events()
    rows[swap[0]], rows[swap[1]] = rows[swap[1]], rows[swap[0]]
    with pytest.raises(ValueError, match="out of order"):
        list(ClientStories((0, 9_000 * MS), StallLimits(9_000 * MS, 1_000 * MS)).feed(rows))


def test_answers_and_ends_are_told_at_their_own_time(
    connection: Callable[..., Connection], request_row: Callable[..., Request]
) -> None:
    timeline = Timeline([connection("c1", 0, 30), connection("c2", 20, 40)], 60_000 * MS)
    rows = []
    for at, answered in ((5, 25), (10, 15)):
        rows += timeline.events_before(at * MS)
        timeline.add_request(request_row(1, at, answered))
    rows += timeline.events_before(25 * MS)
    timeline.add_access(access(("r", "c1", 25 * MS), 1, True, 0))
    rows += timeline.rest()
    kinds = [(e.ts_ns // MS, e.kind) for e in rows if e.kind is not Kind.UP]
    assert kinds == [
        (0, Kind.OPEN),
        (5, Kind.REQUEST),
        (10, Kind.REQUEST),
        (15, Kind.ANSWER),
        (20, Kind.OPEN),
        (25, Kind.ACCESS),
        (25, Kind.ANSWER),
        (30, Kind.CLOSE),
        (40, Kind.CLOSE),
    ]


@pytest.mark.parametrize(
    ("close_kind", "sent", "answered", "is_received"),
    [
        ("fin_client", 5, 3_500, False),
        ("rst_client", 5, 3_500, False),
        ("rst_client", 2_500, 3_500, True),
        ("fin_client", 2_500, 3_500, True),
        ("fin_client", 2_500, 9_000, False),
        ("fin_server", 5, 3_500, True),
    ],
)
def test_what_is_answered_after_the_client_gave_up_is_unanswered(
    connection: Callable[..., Connection],
    request_row: Callable[..., Request],
    close_kind: str,
    sent: int,
    answered: int,
    is_received: bool,
) -> None:
    """As recorded of a paused broker: it goes on, and answers what the client gave up long ago."""
    timeline = Timeline([connection("c1", 0, 3_000, close_kind=close_kind)], 60_000 * MS)
    request = request_row(0, sent, answered, error_code=6, error_name="NOT_LEADER_OR_FOLLOWER")
    timeline.add_request(request)
    timeline.add_error_run(
        ErrorRun.of(
            {
                "request_id": request.request_id,
                "api_key": 0,
                "error_name": "NOT_LEADER_OR_FOLLOWER",
                "topic": "t",
                "partition": 0,
                "n": 1,
            }
        )
    )
    timeline.add_access(access((request.request_id, "c1", answered * MS), 0, True, 0, hints=True))
    timeline.add_access(access(("not rows", "c1", answered * MS), 0, True, 1))
    rows = timeline.rest()
    kinds = {event.kind for event in rows}
    assert (Kind.ANSWER in kinds, Kind.LATE_ANSWER in kinds) == (is_received, not is_received)
    touched = {event.what.partition for event in rows if event.kind is Kind.ACCESS}
    assert touched == ({0} if is_received else set()) | ({1} if close_kind == "fin_server" else set())
    assert request.status == ("ok" if is_received else "unanswered")


def test_an_answer_that_meets_a_reset_is_not_heard(
    connection: Callable[..., Connection], request_row: Callable[..., Request]
) -> None:
    """As recorded of a broker whose answers a firewall held up: the client had closed, its FIN never left."""
    for close_kind, waited, is_received in (
        ("rst_client", 10_000, False),
        ("rst_client", 900, True),
        ("fin_client", 10_000, True),
    ):
        timeline = Timeline([connection("c1", 0, 20_000, close_kind=close_kind)], 60_000 * MS)
        timeline.add_request(request_row(0, 19_999 - waited, 19_999))
        assert (Kind.ANSWER in {event.kind for event in timeline.rest()}) == is_received


def test_mentions_of_one_request_at_one_time_keep_their_order(connection: Callable[..., Connection]) -> None:
    timeline = Timeline([connection("c1", 0, 30)], 60_000 * MS)
    for partition in (2, 0, 1):
        timeline.add_access(access(("r", "c1", 5 * MS), 1, True, partition))
    assert [e.what.partition for e in timeline.rest() if e.kind is Kind.ACCESS] == [2, 0, 1]


@pytest.mark.parametrize(
    ("client_id", "expected"),
    [("orders", ["transaction"]), ("AddPartitionsManager-client-1", [])],
    ids=["client", "broker"],
)
def test_a_broker_that_asks_another_one_does_not_stall(
    request_row: Callable[..., Request], client_id: str, expected: list[str]
) -> None:
    """A broker asks the coordinator of a transaction for its producers (KIP-890): these stall where it waits."""
    usage = Usage.of({"api_key": ADD_PARTITIONS_TO_TXN, "client_id": client_id, "n": 2})
    usage.conn_id, usage.ts_ns = "10.0.0.1-1", MS
    rows: list[EventRow] = [row("10.0.0.1", "10.0.0.1-1", 1), (("10.0.0.1", WHOLE, MS, RANKS["usage"]), usage)]
    for at, answered in ((10, 12), (100, 5_000)):
        asked = request_row(ADD_PARTITIONS_TO_TXN, at, answered, conn_id="10.0.0.1-1", transactional_id="tx")
        rows.append((("10.0.0.1", MOMENT, at * MS, RANKS["request"]), asked))
    stories = ClientStories((0, 9_000 * MS), StallLimits(9_000 * MS, 1_000 * MS))
    made = [*stories.feed(rows), *stories.finish()]
    assert [each.kind for each in made if isinstance(each, Stall)] == expected


def encrypted(conn_id: str, first_ms: int, closed_ms: int | None) -> list[EventRow]:
    """An encrypted connection that its server closes, and its first exchange."""
    columns = {
        "first_ns": first_ms * MS,
        "last_ns": (closed_ms or first_ms + 50) * MS,
        "syn_ns": first_ms * MS,
        "synack_ns": (first_ms + 1) * MS,
        "close_kind": "open" if closed_ms is None else "rst_server",
        "close_ns": None if closed_ms is None else closed_ms * MS,
        "idle_before_close_ms": 5,
        "protocol": "tls",
        "tls_version": "TLSv1.3",
        "claimed_requests": 20,
        "claimed_job": "produce",
        "server_ip": "10.0.0.5",
        "server_port": 9093,
    }
    opened = ConnectionEvent.of(columns)
    asked = Usage.of({"api_key": 18, "api_name": "ApiVersions", "status": "ok", "n": 1, "first_number": 0})
    asked.request_last_ns, asked.response_ns = (first_ms + 8) * MS, (first_ms + 10) * MS
    asked.last_ns = (first_ms + 8) * MS
    for event, at in ((opened, first_ms), (asked, first_ms + 8)):
        event.conn_id, event.ts_ns = conn_id, at * MS
    return [
        (("10.0.0.9", WHOLE, first_ms * MS, RANKS["connection"]), opened),
        (("10.0.0.9", WHOLE, (first_ms + 8) * MS, RANKS["usage"]), asked),
    ]


def test_an_encrypted_client_that_lost_its_connection_has_recovered_with_the_next_one_that_is_answered() -> None:
    stories = ClientStories((0, 9_000 * MS), StallLimits(9_000 * MS, 1_000 * MS))
    rows = sorted([*encrypted("c1", 0, 2_000), *encrypted("c2", 2_300, None)], key=lambda event: event[0])
    made = [*stories.feed(rows), *stories.finish()]
    (recovery,) = (row for row in made if isinstance(row, Recovery))
    assert (recovery.first_error_name, recovery.outcome, recovery.claimed) == ("CONNECTION_RESET", "recovered", True)
    assert (recovery.start_ns, recovery.recovered_ns) == (2_000 * MS, 2_310 * MS)
    (client,) = (row for row in made if isinstance(row, ClientRow))
    assert (client.n_requests, client.n_errors, client.identity) == (40, None, "shared")
