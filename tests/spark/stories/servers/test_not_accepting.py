"""Attempts to connect that are not answered while older connections work, from events made by hand."""

from dataclasses import replace

from kafkascope_analyzer.dataset.tables.event_kinds.servers import LifeSign, ServerConnection, ServerHost, ServerWait
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.not_accepting import not_accepting_stretches
from kafkascope_spark.stories.servers.record import ServerRecord

S = 1_000_000_000
HOST = ServerHost("10.0.0.1", 9092, 1, "10.0.0.21", "client", True, False, S, 60 * S)
SYN = ServerWait(
    "10.0.0.21", "packet", None, False, False, False, 10 * S, 100, 25 * S, 140, 10 * S, 25 * S + 1_000, 141, "syn_ack"
)
WORKS = LifeSign("10.0.0.21", "host", "packet", 2 * S, 5, 40 * S, 400)


def server(wait: ServerWait, *, others: LifeSign | None = WORKS) -> ServerRecord:
    record = ServerRecord((0, 60 * S))
    record.take(1, "c0", HOST)
    record.take(100, "c1", wait)
    if others is not None:
        record.take(5, "c0", others)
    return record


def test_a_host_that_gets_packets_and_cannot_connect_is_kept_out() -> None:
    (found,) = not_accepting_stretches(server(SYN), [])
    assert (found.state, found.begin, found.end) == ("not_accepting", Moment(10 * S, 100), Moment(25 * S + 1_000, 141))
    assert found.lead_ns == 9 * S  # it may have begun since the server's first packet to the host: others go on


def test_where_nothing_comes_the_path_may_be_cut_and_one_lost_syn_is_none() -> None:
    assert not not_accepting_stretches(server(SYN, others=None), [])
    assert not not_accepting_stretches(server(replace(SYN, last_ns=11 * S, until_ns=11 * S + 1_000)), [])
    assert not not_accepting_stretches(server(replace(SYN, ended_by="ack")), [])


def rejected(at_s: float) -> tuple[ServerWait, ServerConnection]:
    """An attempt that was given up at once, as after an ICMP message: its SYN is all that there is of it."""
    at_ns, packet_no = int(at_s * S), int(at_s * 10)
    wait = replace(
        SYN, first_ns=at_ns, first_packet_no=packet_no, last_ns=at_ns, last_packet_no=packet_no, due_ns=at_ns
    )
    wait = replace(wait, until_ns=None, until_packet_no=None, ended_by="open")
    at = at_ns, packet_no
    return wait, ServerConnection("10.0.0.21", "unanswered", False, None, None, None, *at, *at)


def test_attempts_that_are_given_up_at_once_show_it_where_several_follow_on_each_other() -> None:
    def record(*times: float, accepted: float | None = None) -> ServerRecord:
        made = server(SYN)
        made.waits.clear()
        for number, (wait, connection) in enumerate(map(rejected, times)):
            made.take(wait.first_packet_no or 0, f"r{number}", wait)
            made.take(wait.first_packet_no or 0, f"r{number}", connection)
        if accepted is not None:
            at = int(accepted * S), int(accepted * 10)
            made.take(at[1], "a", ServerConnection("10.0.0.21", "accepted", True, None, *at, *at, *at))
        return made

    (found,) = not_accepting_stretches(record(10, 11, 13, accepted=14), [])
    assert (found.begin.ts_ns, found.end, found.n_waiting) == (10 * S, Moment(14 * S, 140), 3)
    assert found.last_shown_ns == 13 * S
    (late,) = not_accepting_stretches(record(10, 11, 13, accepted=35), [])
    assert (late.end, late.lag_ns) == (Moment(13 * S, 130), 22 * S)
    assert not not_accepting_stretches(record(10, 13), [])
    assert not not_accepting_stretches(record(10, 11, 11.5, accepted=20), [])
    assert not not_accepting_stretches(record(10, 10.5, 11, 13, accepted=12), [])


FIRST = ServerWait(
    "10.0.0.21", "request", "c1-0", True, True, False, 10 * S, 100, 10 * S, 100, 10 * S, 15 * S, 150, "data"
)
PROCESS = LifeSign(None, "process", "payload", 2 * S, 5, 40 * S, 400)


def queue(*waits: ServerWait, process: LifeSign = PROCESS) -> ServerRecord:
    """Requests, each on a connection of its own, while the process sends something."""
    record = ServerRecord((0, 60 * S))
    record.take(1, "c0", HOST)
    record.take(5, "c0", process)
    for number, wait in enumerate(waits):
        record.take(wait.first_packet_no or 0, f"q{number}", wait)
    return record


def test_first_requests_without_a_response_show_connections_that_the_process_does_not_accept() -> None:
    produce = replace(FIRST, is_proof=False, until_ns=16 * S, until_packet_no=160)
    (found,) = not_accepting_stretches(queue(FIRST, FIRST, FIRST, produce), [])
    assert (found.begin, found.end, found.n_waiting) == (Moment(10 * S, 100), Moment(16 * S, 160), 4)
    assert found.requests


def test_late_responses_that_a_slow_server_or_a_single_connection_explains_do_not() -> None:
    old, at_once = replace(FIRST, is_new=False), replace(FIRST, until_ns=11 * S)
    for waits in ((FIRST, FIRST), (old, old, old), (at_once, at_once, at_once)):
        assert not not_accepting_stretches(queue(*waits), [])
    assert not not_accepting_stretches(queue(FIRST, FIRST, FIRST, replace(old, is_slow=True)), [])
    quiet = replace(PROCESS, last_ns=9 * S)
    assert not not_accepting_stretches(queue(FIRST, FIRST, FIRST, process=quiet), []), "the whole process is frozen"


def test_syns_that_a_full_queue_drops_belong_to_the_connections_in_it() -> None:
    record = queue(FIRST, FIRST, FIRST)
    record.take(5, "c0", WORKS)
    record.take(120, "s1", replace(SYN, first_ns=12 * S, first_packet_no=120))
    (found,) = not_accepting_stretches(record, [])
    assert (found.begin, found.end, found.n_waiting) == (Moment(10 * S, 100), Moment(25 * S + 1_000, 141), 4)
