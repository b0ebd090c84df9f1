"""Whose connection attempts were, where the test knows who made them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_parsers.api_keys import FETCH, METADATA, PRODUCE
from kafkascope_spark.stories.clients.identity.attempts import BEFORE_NS, _most_at_once, attach
from kafkascope_spark.stories.clients.identity.grouping import Group
from kafkascope_spark.stories.model import Connection

MS = 1_000_000
Make = Callable[..., Connection]
OTHER = "10.0.0.2:9092"


@pytest.fixture
def attempt(connection: Make) -> Make:
    """An attempt that the server refused, as an application would see it."""

    def make(at: int, conn_id: str = "", server: str = OTHER, **changes: object) -> Connection:
        name = conn_id or f"attempt-{at}"
        nothing = {"first_request_ns": None, "last_request_ns": None, "apis": set(), "up_ns": None}
        return connection(name, at, at, **{"server": server, "close_kind": "refused", **nothing, **changes})

    return make


def group(*connections: Connection) -> Group:
    return Group(list(connections))


def ids(connections: list[Connection]) -> list[str]:
    return [c.conn_id for c in connections]


@pytest.mark.parametrize(
    ("at", "is_mine"),
    [(-BEFORE_NS // MS + 100, True), (-BEFORE_NS // MS - 100, False), (500, True), (900, True), (1_500, False)],
)
def test_a_client_tried_while_it_ran_or_shortly_before(connection: Make, attempt: Make, at: int, is_mine: bool) -> None:
    """It began at 0, worked, and closed its connection at 1 s."""
    client = group(connection("work", 0, 1_000, apis={PRODUCE}))
    one = attempt(at)
    left = attach([one], [client])
    assert (ids(left), one in client.connections) == (([], True) if is_mine else ([one.conn_id], False))


def test_a_client_that_lost_its_connection_may_go_on_trying(connection: Make, attempt: Make) -> None:
    client = group(connection("work", 0, 1_000, apis={PRODUCE}, close_kind="rst_server"))
    assert attach([attempt(60_000)], [client]) == []
    assert ids(client.connections) == ["work", "attempt-60000"]


def test_an_attempt_that_two_may_have_made_is_nobodys(connection: Make, attempt: Make) -> None:
    clients = [group(connection(name, 0, None, apis={PRODUCE})) for name in ("a", "b")]
    assert ids(attach([attempt(500)], clients)) == ["attempt-500"]
    assert [one.n_ambiguous_attempts for one in clients] == [1, 1]


def test_who_goes_on_with_a_connection_to_the_server_made_no_other(connection: Make, attempt: Make) -> None:
    busy = connection("busy", 0, None, server=OTHER, apis={FETCH})
    busy.last_request_ns = 5_000 * MS
    clients = [group(busy), group(connection("b", 0, None, apis={FETCH}))]
    assert attach([attempt(500)], clients) == []
    assert ids(clients[1].connections) == ["b", "attempt-500"]


def test_who_has_fewer_connections_to_the_server_than_before_may_open_one(connection: Make, attempt: Make) -> None:
    busy, lost = (
        connection(name, 0, until, server=OTHER, apis={FETCH}) for name, until in (("busy", None), ("lost", 300))
    )
    busy.last_request_ns = 5_000 * MS
    client = group(busy, lost)
    assert attach([attempt(500)], [client]) == []
    alone = group(busy)
    assert ids(attach([attempt(500)], [alone])) == ["attempt-500"]


def test_a_connection_from_before_the_capture_is_of_a_client_from_before(connection: Make, attempt: Make) -> None:
    old = connection("old", 0, None, syn_ns=None, up_ns=None, apis={PRODUCE})
    clients = [group(connection("new", 1, None, apis={PRODUCE})), group(old)]
    assert attach([attempt(500, syn_ns=None)], clients) == []
    assert ids(clients[1].connections) == ["old", "attempt-500"]


def test_metadata_says_which_servers_a_client_knows(connection: Make, attempt: Make) -> None:
    """Later than its first connection, it only tries those."""
    known = {"named_servers": {"10.0.0.7:9092"}, "apis": {METADATA, PRODUCE}}
    client = group(connection("work", 0, None, **known))
    assert ids(attach([attempt(500), attempt(600, server="10.0.0.7:9092")], [client])) == ["attempt-500"]


@pytest.mark.parametrize(("step", "is_periodic"), [(3_000, True), (900, False)])
def test_attempts_at_one_interval_are_of_the_client_that_begins_after_them(
    connection: Make, attempt: Make, step: int, is_periodic: bool
) -> None:
    """Two clients might have made them; one of them begins where the next attempt was due."""
    tried = [attempt(20_000 - number * step, close_kind="unanswered") for number in (3, 2, 1)]
    begins = connection("begins", 20_000, None, server=OTHER, apis={FETCH})
    runs = connection("runs", 0, None, apis={PRODUCE})
    clients = [group(runs), group(begins)]
    left = attach(tried, clients)
    assert (left == [], ids(clients[1].connections)[0]) == (is_periodic, "begins")
    assert len(clients[1].connections) == (4 if is_periodic else 1)


SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), min_size=1, max_size=8)


@given(SPANS)
def test_the_most_connections_at_once_are_those_that_a_count_of_each_moment_finds(spans: list[tuple[int, int]]) -> None:
    connections = [bare(at, at + length) for at, length in spans]
    times, most = _most_at_once(connections)
    begins = sorted(at for at, _ in spans)
    assert times == begins
    counted = [sum(a <= t < a + length for a, length in spans) for t in begins]
    last = {t: max(counted[: begins.index(t) + begins.count(t)]) for t in begins}
    assert {t: n for t, n in zip(times, most, strict=True)} == last  # noqa: C416


def bare(begin: int, end: int) -> Connection:
    """A connection of which only its begin and its end count."""
    names = [name for name in Connection.__match_args__ if name in REQUIRED]
    return Connection(**dict.fromkeys(names) | {"syn_ns": begin, "first_ns": begin, "last_ns": end, "close_ns": end})


REQUIRED = frozenset(
    name for name, field in Connection.__dataclass_fields__.items() if field.default is field.default_factory
)
