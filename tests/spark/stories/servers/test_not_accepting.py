"""Attempts to connect that are not answered while older connections work, from events made by hand."""

from dataclasses import replace

from kafkascope_analyzer.dataset.tables.event_kinds.servers import LifeSign, ServerHost, ServerWait
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.not_accepting import not_accepting_stretches
from kafkascope_spark.stories.servers.record import ServerRecord

S = 1_000_000_000
HOST = ServerHost("10.0.0.1", 9092, 1, "10.0.0.21", "client", True, False, S, 60 * S)
SYN = ServerWait(
    "10.0.0.21", "packet", None, False, False, 10 * S, 100, 25 * S, 140, 10 * S, 25 * S + 1_000, 141, "syn_ack"
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


def test_where_nothing_comes_the_path_may_be_cut_and_one_lost_syn_is_none() -> None:
    assert not not_accepting_stretches(server(SYN, others=None), [])
    assert not not_accepting_stretches(server(replace(SYN, last_ns=11 * S, until_ns=11 * S + 1_000)), [])
    assert not not_accepting_stretches(server(replace(SYN, ended_by="ack")), [])
