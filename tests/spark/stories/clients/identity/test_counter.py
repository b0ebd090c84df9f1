from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkascope_spark.stories.clients.identity.grouping import group_connections
from kafkascope_spark.stories.clients.identity.shared_counter import SharedCounter
from kafkascope_spark.stories.model import Connection

MS = 1_000_000
Make = Callable[..., Connection]


def samples(*pairs: tuple[int, int]) -> list[tuple[int, int]]:
    return [(at * MS, correlation_id) for at, correlation_id in pairs]


def test_an_id_seen_on_the_counter_proves_another_client(connection: Make) -> None:
    counter = SharedCounter()
    counter.add(connection("a", ids=samples((1, 0), (5, 1), (9, 3))))
    assert counter.distance(connection("b", ids=samples((6, 2), (12, 4)))) is not None
    assert counter.distance(connection("b", ids=samples((6, 3), (12, 4)))) is None


def test_ids_long_behind_the_counter_are_of_another_client(connection: Make) -> None:
    counter = SharedCounter()
    counter.add(connection("a", ids=samples(*((s * 1_000, s * 100) for s in range(60)))))
    assert counter.distance(connection("b", ids=samples((50_100, 5_001), (51_100, 5_101)))) is not None
    assert counter.distance(connection("b", ids=samples((50_100, 1), (51_100, 2)))) is None


def test_requests_that_waited_for_a_silent_path_are_of_the_counter_they_were_numbered_by(connection: Make) -> None:
    """As recorded of a Java consumer whose coordinator had no link for 17 s: what it wrote meanwhile left its socket
    in one segment, 27 s later, when the one before was acknowledged."""
    counter = SharedCounter()
    counter.add(connection("fetches", ids=samples((770, 3), *((s * 1_000, s * 9) for s in range(1, 34)))))
    before = ((775, 4), (798, 5), (814, 7), (1_140, 8), (4_124, 35), (6_178, 53))
    waited = ((33_652, i) for i in (59, 68, 85, 110, 125, 151, 165, 192, 214, 239))
    assert counter.distance(connection("coordinator", ids=samples(*before, *waited))) is not None
    another = ((33_652, 6), *((33_652 + i * 500, 10 + i) for i in range(1, 9)))
    assert counter.distance(connection("another", ids=samples(*another))) is None


def test_the_oldest_of_requests_that_waited_together_does_not_tell_where_the_counter_was(connection: Make) -> None:
    """The same, where the coordinator's connection is known first: as recorded of a Java consumer whose broker's
    answers were dropped for 9 s."""
    counter = SharedCounter()
    waited = [(27_611 + i % 3, i) for i in (338, 369, 385, 407)]
    seen = ((3_364, 66), (15_511, 256), (18_366, 302), (20_511, 327), *waited, (30_369, 440), (33_369, 487))
    counter.add(connection("coordinator", ids=samples((0, 0), *seen)))
    numbered = ((at, 327 + (at - 20_511) * 80 // 7_100) for at in range(21_000, 27_600, 300))
    fetches = [(at, i) for at, i in numbered if i not in {i for _, i in waited}]
    assert counter.distance(connection("fetches", ids=samples(*fetches))) is not None
    ahead = [(at, i + 40) for at, i in fetches]
    assert counter.distance(connection("ahead", ids=samples(*ahead))) is None


def test_requests_that_waited_together_are_no_bound_for_those_sent_meanwhile(connection: Make) -> None:
    """As recorded of a Java 0.10.2 consumer: its Heartbeats and a commit waited 27 s for a coordinator without a link,
    while it fetched from the others, with ids that are long above those that waited."""
    counter = SharedCounter()
    before = ((1_137, 4), (1_181, 3), (1_485, 5), (1_494, 6), (4_499, 56), (6_496, 72))
    counter.add(connection("coordinator", ids=samples(*before, *((33_132, i) for i in (77, 92, 111, 135)))))
    numbered = ((at, 10 + (at - 1_500) // 96) for at in range(1_501, 37_000, 200))
    fetches = [(at, i) for at, i in numbered if i not in {56, 72, 77, 92, 111, 135}]
    assert counter.distance(connection("fetches", ids=samples(*fetches))) is not None
    lower = [(at, i - 201) for at, i in fetches if i > 320]
    counter.add(connection("fetches", ids=samples(*fetches)))
    assert counter.distance(connection("another", ids=samples(*lower))) is None


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(0, 1), min_size=6, max_size=60), st.integers(1, 3), st.data())
def test_two_counters_come_apart_whatever_the_interleaving(owners: list[int], n: int, data: st.DataObject) -> None:
    """Two Java clients with one name, each with some connections: ids of either are unique, those of both collide."""
    sent: dict[tuple[int, int], list[tuple[int, int]]] = {}
    counters = [0, 0]
    for at, owner in enumerate([*owners, 0, 1]):
        place = (owner, data.draw(st.integers(0, n - 1)) if counters[owner] else 0)
        sent.setdefault(place, []).append((at * 1_000 * MS, counters[owner]))
        counters[owner] += 1
    connections = [_java(f"{o}-{c}", ids) for (o, c), ids in sent.items()]
    groups = group_connections(connections)
    assert sorted(c.conn_id for g in groups for c in g.connections) == sorted(c.conn_id for c in connections)
    for group in groups:
        ids = [i for c in group.connections for _, i in c.ids]
        assert len(ids) == len(set(ids))


def _java(conn_id: str, ids: list[tuple[int, int]]) -> Connection:
    first, last = ids[0][0], ids[-1][0] + MS
    return Connection(
        conn_id, 1, "10.0.0.1:9092", 1, "kafka", first, last, first, first, "open", None, 0, False, None, None,
        "apache-kafka-java", "4.1.0", len(ids), 0, None, 0,
        client_id="app", first_request_ns=first, last_request_ns=last, ids=ids,
    )  # fmt: skip
