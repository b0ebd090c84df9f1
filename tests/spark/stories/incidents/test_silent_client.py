"""When a client stalled by itself, from connections and silences written by hand. Times are seconds."""

from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.connections import ClosedWindow, LoopStatistics, Silence
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.grouping import Group
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.identity.kinds import kind_of
from kafkascope_spark.stories.incidents.signals.silent_client import silent_client_rows
from kafkascope_spark.stories.model import Connection

from .conftest import NS, MakeRow, Row

END = 60
HEARTBEATS = LoopStatistics("heartbeat", 10, 3_000, 3_010, 9_000, conn_id="c1")
MakeSilence = Callable[..., Silence]


@pytest.fixture
def silence() -> MakeSilence:
    """A silence on a connection; `api` is the API of the last request before."""

    def make(start: float, end: float | None, api: int = api_keys.FETCH, **more: Any) -> Silence:
        values: Row = {
            "first_ns": int(start * NS),
            "first_packet_no": int(start * 10),
            "answered_ns": int(start * NS),
            "last_ns": None if end is None else int(end * NS),
            "last_packet_no": None if end is None else int(end * 10),
            "ended_by": "open" if end is None else "data",
            "last_sent_ns": int(start * NS) + NS,
            "acknowledged": True,
            "request_id": f"before-{start}",
            "api_key": api,
            "generation_or_epoch": None,
            "failed": False,
            "next_request_id": None if end is None else f"after-{end}",
            "n_sent_before": 0,
            "n_sent_after": 0,
            "n_made_meanwhile": None,
        }
        return Silence(**values | more)

    return make


@pytest.fixture
def coordinator(connection: Callable[..., Connection], silence: MakeSilence) -> Callable[..., Connection]:
    """The connection to the coordinator, which had a heartbeat every 3 s, and was silent from 10 to 20 s."""

    def make(*silences: Silence, **more: Any) -> Connection:
        silences = silences or (silence(10, 20, api_keys.HEARTBEAT),)
        more = {"cadences": [HEARTBEATS], "member_first_ns": NS, "groups": {"orders-app": NS}} | more
        return connection("c1", 0, None, last_ns=END * NS, silences=list(silences), **more)

    return make


@pytest.fixture
def fetcher(connection: Callable[..., Connection]) -> Callable[..., Connection]:
    def make(*silences: Silence, at: float = 0, **more: Any) -> Connection:
        more = {"last_ns": END * NS} | more
        return connection("c2", int(at * 1000), None, silences=list(silences), **more)

    return make


def result(*connections: Connection) -> list[tuple[float, float | None]]:
    """From when to when the client stalled."""
    own = list(connections)
    instance = Instance("ci-1", "10.0.0.9", "app", kind_of(own), Group(own), own)
    rows = list(silent_client_rows(instance, END * NS))
    return [(row.from_ns / NS, row.to_ns and row.to_ns / NS) for row in rows]


def test_a_member_that_sends_nothing_anywhere_stalls(
    coordinator: MakeRow, fetcher: MakeRow, silence: MakeSilence
) -> None:
    """From its last request on any connection to its first afterwards: packets 105 and 200."""
    found = coordinator(), fetcher(silence(10.5, 20.2))
    assert result(*found) == [(10.5, 20.0)]
    own = list(found)
    (row,) = silent_client_rows(Instance("ci-1", "10.0.0.9", "app", kind_of(own), Group(own), own), END * NS)
    assert (row.packets, row.groups, row.due_kind, row.usual_ms) == (
        (100, 105, 200, 202),
        ("orders-app",),
        "heartbeat",
        3_000,
    )
    assert row.requests == ("before-10", "after-20", "before-10.5", "after-20.2")


def test_a_client_that_fetches_on_does_not_stall(coordinator: MakeRow, fetcher: MakeRow, silence: MakeSilence) -> None:
    """Its heartbeats are late for another reason."""
    assert result(coordinator(), fetcher()) == []
    assert result(coordinator(), fetcher(silence(5, 12))) == []


def test_a_heartbeat_that_is_not_overdue_proves_nothing(coordinator: MakeRow, silence: MakeSilence) -> None:
    """One and a half intervals and a second: 5.5 s."""
    assert result(coordinator(silence(10, 15.4, api_keys.HEARTBEAT))) == []
    assert result(coordinator(silence(10, 15.6, api_keys.HEARTBEAT))) == [(10.0, 15.6)]


def test_without_known_heartbeats_a_client_may_be_idle(coordinator: MakeRow) -> None:
    assert result(coordinator(cadences=[])) == []
    assert result(coordinator(cadences=[], heartbeat_interval_ms=1_000)) == [(10.0, 20.0)]


@pytest.mark.parametrize(
    ("api", "more"),
    [
        (api_keys.LEAVE_GROUP, {}),
        (api_keys.CONSUMER_GROUP_HEARTBEAT, {"generation_or_epoch": -1}),
        (api_keys.FIND_COORDINATOR, {}),
        (api_keys.HEARTBEAT, {"failed": True}),
    ],
)
def test_a_client_that_left_or_was_refused_owes_no_heartbeat(
    coordinator: MakeRow, silence: MakeSilence, api: int, more: Row
) -> None:
    assert result(coordinator(silence(10, 20, api, **more))) == []


def test_a_cut_network_is_no_paused_client(coordinator: MakeRow, fetcher: MakeRow, silence: MakeSilence) -> None:
    """A server sent again what the host did not acknowledge."""
    assert result(coordinator(), fetcher(silence(10.5, 20, acknowledged=False))) == []


def test_a_new_connection_ends_it(coordinator: MakeRow, fetcher: MakeRow) -> None:
    """A SYN is sent by the process, which runs again."""
    assert result(coordinator(), fetcher(at=18)) == [(10.0, 18.0)]
    assert result(coordinator(), fetcher(at=14)) == []


def test_connections_that_were_over_before_say_nothing(coordinator: MakeRow, fetcher: MakeRow) -> None:
    assert result(coordinator(), fetcher(last_ns=9 * NS)) == [(10.0, 20.0)]


def test_one_that_never_goes_on_is_known_by_its_kernel(
    coordinator: MakeRow, fetcher: MakeRow, silence: MakeSilence
) -> None:
    """What its kernel acknowledged 0.4 s later may be the delayed acknowledgment of before; a host that vanished looks
    the same."""
    member = silence(10, None, api_keys.HEARTBEAT, last_sent_ns=int(10.1 * NS))
    assert result(coordinator(member), fetcher(silence(10, None, last_sent_ns=int(10.4 * NS)))) == []
    assert result(coordinator(member), fetcher(silence(10, None, last_sent_ns=int(10.9 * NS)))) == [(10.0, None)]


def test_a_client_that_only_closes_its_connections_may_have_been_about_to_stop(
    coordinator: MakeRow, silence: MakeSilence
) -> None:
    assert result(coordinator(silence(10, 20, api_keys.HEARTBEAT, ended_by="fin"))) == []


def test_a_broker_that_closes_an_idle_connection_does_not_end_it(
    coordinator: MakeRow, fetcher: MakeRow, silence: MakeSilence
) -> None:
    assert result(coordinator(), fetcher(silence(10, 16, ended_by="gave_up"))) == [(10.0, 20.0)]


AT_ONCE = LoopStatistics("poll_gap", 100, 2, 3_000, 3_000, conn_id="c2")


@pytest.fixture
def reader(fetcher: MakeRow) -> MakeRow:
    """A connection on which a consumer fetches again within 2 ms after a response, and works on until 50 s."""

    def make(*silences: Silence, **more: Any) -> Connection:
        return fetcher(*silences, **{"cadences": [AT_ONCE], "last_request_ns": 50 * NS} | more)

    return make


def test_a_consumer_that_fetches_at_once_owes_the_next_fetch(
    coordinator: MakeRow, reader: MakeRow, silence: MakeSilence
) -> None:
    """No heartbeat is overdue: they come every 3 s, and the client was quiet for 2.9 s. A broker responded 0.3 s after
    the last request."""
    member = coordinator(silence(9, 13, api_keys.HEARTBEAT))
    quiet = silence(10, 13.2, answered_ns=int(10.3 * NS))
    assert result(member, reader(quiet)) == [(10.0, 13.0)]
    own = [member, reader(quiet)]
    (row,) = silent_client_rows(Instance("ci-1", "10.0.0.9", "app", kind_of(own), Group(own), own), END * NS)
    assert (row.due_kind, row.usual_ms, row.due_ns) == ("fetch", 2, int(10.302 * NS))


@pytest.mark.parametrize(("after_ms", "found"), [(90, [(10.0, 13.0)]), (200, [])])
def test_an_encrypted_consumer_that_goes_on_connection_by_connection_may_look_for_leaders(
    reader: MakeRow, silence: MakeSilence, after_ms: int, found: list[tuple[float, float]]
) -> None:
    """One whose process was stopped goes on on all of them at once. Errors and lookups are not known without keys."""

    def connections(**more: Any) -> list[Connection]:
        return [reader(silence(at, 13 + after / 1000), **more) for at, after in ((10, 0), (9.5, after_ms))]

    assert result(*connections(n_claimed=40)) == found
    assert result(*connections()) == [(10.0, 13.0)]


def test_a_consumer_that_heartbeats_before_it_fetches_again_polls_late(
    coordinator: MakeRow, reader: MakeRow, silence: MakeSilence
) -> None:
    """Its process ran on: it held its application's next poll for long."""
    assert result(coordinator(silence(9, 12, api_keys.HEARTBEAT)), reader(silence(10, 13.2))) == []


@pytest.mark.parametrize(
    "more",
    [
        {"cadences": []},
        {"cadences": [LoopStatistics("poll_gap", 100, 400, 3_000, 3_000, conn_id="c2")]},
        {"cadences": [LoopStatistics("poll_gap", 19, 2, 3_000, 3_000, conn_id="c2")]},
        {"last_request_ns": int(13.5 * NS)},
    ],
)
def test_a_consumer_that_is_often_late_or_about_to_close_owes_nothing(
    reader: MakeRow, silence: MakeSilence, more: Row
) -> None:
    """Loops that are not known, or slow, or have gone round too seldom; and one whose last request came soon after."""
    assert result(reader(silence(10, 13))) == [(10.0, 13.0)]
    assert result(reader(silence(10, 13), **more)) == []


@pytest.mark.parametrize(
    "more",
    [
        {"acknowledged": False},
        {"failed": True},
        {"api_key": api_keys.METADATA},
        {"ended_by": "fin"},
        {"answered_ns": int(12.1 * NS)},
    ],
)
def test_a_silence_for_another_reason_is_no_late_fetch(reader: MakeRow, silence: MakeSilence, more: Row) -> None:
    """A cut network; an error or a quota; nothing to fetch; a close; a broker that responded 0.9 s before."""
    assert result(reader(silence(10, 13, **more))) == []


def test_a_consumer_that_recovers_waits_before_it_tries_again(
    reader: MakeRow, fetcher: MakeRow, silence: MakeSilence
) -> None:
    """Recorded of a franz-go consumer after a broker was killed: it had asked for metadata, and lost a connection."""
    quiet = silence(10, 13)
    assert result(reader(quiet), fetcher(silence(9.5, 13.1, api_keys.METADATA))) == []
    assert result(reader(quiet), fetcher(silence(5, 13.1, api_keys.METADATA))) == [(10.0, 13.0)]
    lost = {"last_ns": 4 * NS, "close_ns": 4 * NS}
    assert result(reader(quiet), fetcher(**lost, close_kind="fin_server")) == []
    assert result(reader(quiet), fetcher(**lost, close_kind="fin_client")) == [(10.0, 13.0)]


def test_a_producer_that_makes_up_for_a_silence_was_held_up(fetcher: MakeRow, silence: MakeSilence) -> None:
    """It sent 5 records a second: in the 3 s before the silence 15, in the 0.75 s after it 18. One that goes on as
    before sends 4, and had nothing to send."""

    def of(n_before: int, n_after: int, n_made: int | None = 0) -> Connection:
        sent = {"n_sent_before": n_before, "n_sent_after": n_after, "n_made_meanwhile": n_made}
        silent = silence(10, 13, api_keys.PRODUCE, **sent)
        return fetcher(silent, last_request_ns=50 * NS)

    assert result(of(15, 18)) == [(10.0, 13.0)]
    assert result(of(15, 4)) == []
    assert result(of(4, 8)) == []
    assert result(of(15, 18), fetcher()) == []
    assert result(of(15, 18, 12)) == [], "it collects records for a while before it sends them"
    assert result(of(15, 18, None)) == [], "an application gives the records their times"


def test_the_pace_of_a_producer_that_has_just_started_is_not_known(fetcher: MakeRow, silence: MakeSilence) -> None:
    """Recorded of franz-go: it waited for metadata of other partitions, 1.2 s after it had begun to write."""
    sent = {"n_sent_before": 8, "n_sent_after": 41, "n_made_meanwhile": 0}
    starting = fetcher(silence(1.2, 5.1, api_keys.PRODUCE, **sent), last_request_ns=50 * NS)
    begun_s = starting.begin_ns / NS
    assert result(starting) == []
    later = silence(begun_s + 3, begun_s + 7, api_keys.PRODUCE, **sent)
    assert result(fetcher(later, last_request_ns=50 * NS)) == [(begun_s + 3, begun_s + 7)]


def closed(first: float, last: float | None, sent: float | None = None) -> ClosedWindow:
    """The client's window was closed from first to last, in seconds; it sent its last payload before at `sent`."""
    shown = first + 0.5 if last is None else last - 0.1
    until = (None, None) if last is None else (int(last * NS), int(last * 10))
    return ClosedWindow(
        None if sent is None else int(sent * NS), int(first * NS), int(first * 10), int(shown * NS), *until
    )


def unread(*connections: Connection) -> list[tuple[float, float, float | None, int]]:
    """When the client did not read: from when it is known, since when it is shown, to when, on how many connections."""
    own = list(connections)
    instance = Instance("ci-1", "10.0.0.9", "app", kind_of(own), Group(own), own)
    rows = [row for row in silent_client_rows(instance, END * NS) if row.due_kind == "read"]
    return [(r.from_ns / NS, r.due_ns / NS, r.to_ns and r.to_ns / NS, r.n_connections) for r in rows]


def test_windows_that_are_closed_together_show_one_time_in_which_the_client_did_not_read(fetcher: MakeRow) -> None:
    one = fetcher(closed_windows=[closed(10, 20, sent=9.5), closed(30, None, sent=29)])
    other = fetcher(closed_windows=[closed(11, 20.5, sent=9.9)])
    assert unread(one) == [(9.5, 10.0, 20.0, 1), (29.0, 30.0, None, 1)]
    assert unread(one, other)[0] == (9.9, 10.0, 20.5, 1)


def test_a_client_that_sent_nothing_either_stalled_as_a_whole(
    coordinator: MakeRow, fetcher: MakeRow, silence: MakeSilence
) -> None:
    both = fetcher(silence(10.5, 20.2), closed_windows=[closed(11, 20)])
    assert result(coordinator(), both) == [(10.5, 20.0)]
    assert unread(coordinator(), both) == []
