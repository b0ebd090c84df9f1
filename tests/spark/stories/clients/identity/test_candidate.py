"""What excludes a connection from a client, and what shows that it belongs to it."""

from collections.abc import Callable
from itertools import permutations

import pytest

from kafkascope_parsers.api_keys import FETCH, METADATA, PRODUCE
from kafkascope_spark.stories.clients.identity.candidate import PAUSE_NS, TOGETHER_NS, InstanceCandidate, first_id
from kafkascope_spark.stories.model import Connection

MS = 1_000_000
Make = Callable[..., Connection]


def test_a_client_has_one_connection_at_a_time_to_produce_to_a_broker(connection: Make) -> None:
    mine = InstanceCandidate([connection("a", 0, 1_000, produce_span=(10, 500))])
    why = "has a connection of its own to a broker for the same work"
    assert mine.contradiction(connection("b", produce_span=(400, 600))) == why
    assert mine.contradiction(connection("b", produce_span=(500, 600))) is None
    assert mine.contradiction(connection("b", produce_span=(400, 600), server="10.0.0.2:9092")) is None
    assert mine.contradiction(connection("b", fetch_span=(400, 600))) is None
    behind_one_address = InstanceCandidate([connection("a", produce_span=(10, 500), node_id=None)])
    assert behind_one_address.contradiction(connection("b", produce_span=(400, 600), node_id=None)) is None


@pytest.mark.parametrize(
    ("kind", "field", "value", "other"),
    [
        ("member id", "members", {"m"}, {"n"}),
        ("transactional id", "transactional_ids", {"t"}, {"u"}),
        ("group instance id", "group_instances", {"g"}, {"h"}),
        ("producer id", "producer_ids", {1}, {2}),
    ],
)
def test_an_exclusive_id_joins_and_parts(
    connection: Make, kind: str, field: str, value: set[object], other: set[object]
) -> None:
    mine = InstanceCandidate([connection("a", 0, 1_000, **{field: value})])
    assert mine.shared_id_kind(connection("b", **{field: value})) == kind
    assert mine.shared_id_kind(connection("b", **{field: other})) is None
    assert mine.contradiction(connection("b", 0, 1_000, **{field: other})) is not None
    later = connection("b", 5_000, 6_000, **{field: other})
    assert mine.contradiction(later) is None


def test_it_has_ended_when_it_closed_everything_after_its_work_or_long_before(connection: Make) -> None:
    end = 1_000 * MS
    worked = InstanceCandidate([connection("a", 0, 1_000, apis={PRODUCE})])
    asked = InstanceCandidate([connection("a", 0, 1_000, apis={METADATA})])
    lost = InstanceCandidate([connection("a", 0, 1_000, apis={PRODUCE}, close_kind="rst_server")])
    assert [worked.has_ended(at) for at in (end, end + 1)] == [False, True]
    assert [asked.has_ended(at) for at in (end + 1, end + PAUSE_NS, end + PAUSE_NS + 1)] == [False, False, True]
    assert not lost.has_ended(end + 60_000 * MS)


def test_the_final_end_is_the_last_closes_that_follow_one_another(connection: Make) -> None:
    closes = (300, 1_000, 1_015, 1_030)
    members = [connection(f"c{at}", 0, at) for at in closes]
    for order in permutations(members):
        candidate = InstanceCandidate(order)
        assert candidate.final_end == (1_000 * MS, 1_030 * MS)
        assert candidate.end_distance(connection("d", 0, 1_040)) == 10 * MS
    assert TOGETHER_NS == 20 * MS
    going_on = InstanceCandidate([*members, connection("open", 0, None)])
    going_on.last_ns = 9_000 * MS
    assert going_on.final_end is None


def test_joined_candidates_are_what_one_of_all_connections_is(connection: Make) -> None:
    parts = [connection(n, at, at + 100, apis={api}) for n, at, api in (("a", 0, PRODUCE), ("b", 9, FETCH))]
    one, other = (InstanceCandidate([part]) for part in parts)
    other.join(one)
    whole = InstanceCandidate(parts)
    for name in ("connections", "last_ns", "all_closed", "did_work", "apis", "begin_ns"):
        assert getattr(other, name) == getattr(whole, name), name
    assert sorted(other.ends) == sorted(whole.ends)


@pytest.mark.parametrize(("syn_ns", "number", "found"), [(0, 7, 7), (0, 1, None), (0, 0, None), (None, 7, None)])
def test_the_first_id_says_something_where_the_begin_is_known(
    connection: Make, syn_ns: int | None, number: int, found: int | None
) -> None:
    assert first_id(connection("a", syn_ns=syn_ns, ids=[(1, number)])) == found
