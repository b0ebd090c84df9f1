"""When an encrypted consumer seems to have asked for nothing, from connections and silences written by hand. Times are
seconds."""

from collections.abc import Callable

from kafkascope_analyzer.dataset.tables.event_kinds.connections import LoopStatistics, Silence
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.grouping import Group
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.identity.kinds import kind_of
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.stalls.stall import StallLimits
from kafkascope_spark.stories.stalls.unasked import unasked_stalls

NS = 1_000_000_000
AT_ONCE = LoopStatistics("poll_gap", 100, 3, 40, 9_000)
SELDOM = LoopStatistics("poll_gap", 100, 5_000, 6_000, 9_000)
Make = Callable[..., Connection]


def silence(start: float, end: float, api: int | None = api_keys.FETCH) -> Silence:
    return Silence(
        first_ns=int(start * NS),
        first_packet_no=1,
        answered_ns=int(start * NS),
        last_ns=int(end * NS),
        last_packet_no=2,
        ended_by="data",
        last_sent_ns=int(start * NS),
        acknowledged=True,
        request_id=f"before-{start}",
        api_key=api,
        generation_or_epoch=None,
        failed=False,
        next_request_id=f"after-{end}",
        n_sent_before=0,
        n_sent_after=0,
        n_made_meanwhile=None,
    )


def fetcher(make: Make, name: str, *silences: Silence, loop: LoopStatistics = AT_ONCE) -> Connection:
    return make(name, 0, 60_000, silences=list(silences), cadences=[loop], n_claimed=1, node_id=3)


def stalls(*connections: Connection) -> list[tuple[float, float | None]]:
    own = list(connections)
    instance = Instance("ci-1", "10.0.0.9", None, kind_of(own), Group(own), own)
    found = unasked_stalls(instance, StallLimits(60 * NS, NS))
    assert all(row.claimed and row.kind == "consume" and row.topic is None for row in found)
    return [(round(row.from_ns / NS, 1), row.to_ns and row.to_ns / NS) for row in found]


def test_it_waits_until_the_first_connection_on_which_it_fetches_again(connection: Make) -> None:
    first, other = fetcher(connection, "a", silence(10, 16)), fetcher(connection, "b", silence(11, 17))
    assert stalls(first, other) == [(11.0, 16)]


def test_a_coordinator_that_goes_on_first_does_not_end_it(connection: Make) -> None:
    assert stalls(
        fetcher(connection, "a", silence(10, 16)), connection("c", 0, 60_000, silences=[silence(10, 15, None)])
    ) == [(10.0, 16)]


def test_nothing_is_due_while_another_connection_works(connection: Make) -> None:
    assert stalls(fetcher(connection, "a", silence(10, 16)), fetcher(connection, "b")) == []


def test_nothing_is_due_of_a_client_that_polls_seldom(connection: Make) -> None:
    assert stalls(fetcher(connection, "a", silence(10, 16), loop=SELDOM)) == []


def test_a_short_pause_is_no_stall(connection: Make) -> None:
    assert stalls(fetcher(connection, "a", silence(10, 10.9))) == []
