"""Clients of one name that count per connection. Oracle: the clients that made the connections."""

from collections.abc import Callable
from itertools import permutations

import pytest

from kafkascope_parsers.api_keys import (
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
)
from kafkascope_spark.stories.clients.identity.by_behaviour import Rank, candidates_by_behaviour
from kafkascope_spark.stories.clients.identity.candidate import InstanceCandidate
from kafkascope_spark.stories.model import Connection

MS = 1_000_000
Make = Callable[..., Connection]


def names(candidates: list[InstanceCandidate]) -> list[set[str]]:
    return [{c.conn_id for c in candidate.connections} for candidate in candidates]


def consumer(make: Make, name: str, begin: int, end: int, node: int) -> list[Connection]:
    """A member with a bootstrap connection, one to its coordinator and one that fetches; it closes them at its end."""
    server = f"10.0.0.{node}:9092"
    common = {"software_name": "librdkafka", "members": {f"member {name}"}, "ids": [(begin * MS, 1)]}
    asks = {API_VERSIONS, METADATA}
    boot = make(f"{name} boot", begin, end, apis=asks, first_api=METADATA, software_name="librdkafka", ids=[(1, 1)])
    group = make(f"{name} group", begin + 20, end, apis={JOIN_GROUP, HEARTBEAT, API_VERSIONS}, **common)
    fetch = make(f"{name} fetch", begin + 40, end, server=server, apis={FETCH, API_VERSIONS}, **common)
    fetch.fetch_span = (begin + 50) * MS, (end - 10) * MS
    for each in (group, fetch):
        each.first_request_ns, each.last_request_ns = (begin + 50) * MS, (end - 10) * MS
    return [boot, group, fetch]


@pytest.mark.parametrize("begins", [(0, 300), (0, 2_000), (0, 9_000)])
def test_members_of_one_group_are_told_apart(connection: Make, begins: tuple[int, int]) -> None:
    """While both run, and one after the other."""
    made = [consumer(connection, name, begin, begin + 5_000, node=1) for name, begin in zip("ab", begins, strict=True)]
    members = sorted((c for client in made for c in client), key=lambda c: (c.begin_ns, c.conn_id))
    candidates = candidates_by_behaviour(members)
    assert names(candidates) == [{c.conn_id for c in client} for client in made]
    assert not any(candidate.is_ambiguous for candidate in candidates)


def test_each_connection_is_in_one_candidate(connection: Make) -> None:
    """Whatever the order in which equal ones are named."""
    for order in permutations("abc"):
        members = [
            connection(name, 10 * place, 1_000 + 100 * place, apis={PRODUCE}, produce_span=(1, 900 * MS))
            for place, name in enumerate(order)
        ]
        assert names(candidates_by_behaviour(members)) == [{name} for name in order]


@pytest.mark.parametrize("asks_for_offsets", [False, True])
def test_a_consumer_that_fetches_without_an_offset_of_its_own_is_no_other_client(
    connection: Make, asks_for_offsets: bool
) -> None:
    """Recorded of franz-go, which asked three brokers for a topic that was missing, one after the other. One of them
    was killed later, so that the time of its close shows nothing. Oracle: the process that opened the connections."""
    begun = {"software_name": "kgo", "first_api": METADATA, "close_kind": "rst_server"}
    asks = {API_VERSIONS, METADATA, FIND_COORDINATOR, JOIN_GROUP}
    boot = connection("boot", 100, 22_000, apis=asks, software_name="kgo", first_api=METADATA)
    second = connection("second", 683, 15_500, server="10.0.0.2:9092", apis={API_VERSIONS, METADATA}, **begun)
    offsets = connection("offsets", 2_155, 22_000, server="10.0.0.3:9092", apis={LIST_OFFSETS}, software_name="kgo")
    fetch = connection("fetch", 12_600, 19_500, apis={API_VERSIONS, FETCH}, software_name="kgo")
    fetch.fetch_span = 12_601 * MS, 19_400 * MS
    if asks_for_offsets:
        fetch.apis.add(LIST_OFFSETS)
    found = names(candidates_by_behaviour([boot, second, offsets, fetch]))
    ours = [{"boot", "second", "offsets", "fetch"}]
    assert found == ([{"boot", "offsets"}, {"second", "fetch"}] if asks_for_offsets else ours)


@pytest.mark.parametrize("transactional_id", ["tx-1", "tx-2"])
def test_who_finds_a_transaction_coordinator_uses_it(connection: Make, transactional_id: str) -> None:
    """Recorded of franz-go, which looks up the coordinator on one connection, and begins with Metadata on another one;
    it closed the first one while it ran on. Oracle: the process that opened the connections."""
    sought = {("transaction", "tx-1"): 201 * MS}
    finds = connection("finds", 198, 30_000, apis={API_VERSIONS, FIND_COORDINATOR}, sought=sought)
    finds.first_api = FIND_COORDINATOR
    asks = connection("asks", 205, 36_000, apis={API_VERSIONS, METADATA}, first_api=METADATA)
    uses = connection("uses", 222, 36_000, apis={INIT_PRODUCER_ID}, transactional_ids={transactional_id})
    uses.first_request_ns = 223 * MS
    found = names(candidates_by_behaviour([finds, asks, uses]))
    assert found == ([{"finds", "asks", "uses"}] if transactional_id == "tx-1" else [{"finds"}, {"asks", "uses"}])


def test_ids_that_go_on_join_what_behaviour_would_part(connection: Make) -> None:
    first = connection("first", 0, 1_000, apis={FETCH}, ids=[(1, 1)], last_id=40, software_name="librdkafka")
    second = connection("second", 5_000, 6_000, apis={FETCH}, ids=[(5_001 * MS, 41)], software_name="librdkafka")
    (candidate,) = candidates_by_behaviour([first, second])
    assert candidate.reasons == {"correlation ids that go on from one connection to the next"}
    second.ids = [(5_001 * MS, 1)]
    assert len(candidates_by_behaviour([first, second])) == 2


def test_a_candidate_that_runs_is_better_than_one_that_ended_and_a_close_together_than_one_apart() -> None:
    ranks = [Rank(ended, distance, age) for ended in (True, False) for distance in (4, 0) for age in (9, 2)]
    assert sorted(ranks) == list(reversed(ranks))
