"""Java clients of one name, each with a counter of its own. Oracle: the clients that made the connections."""

import random
from collections.abc import Callable

import pytest

from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_spark.stories.clients.identity.by_counter import (
    candidates_by_counter,
    counts_over_connections,
    is_consecutive,
)
from kafkascope_spark.stories.model import Connection

MS = 1_000_000
Make = Callable[..., Connection]
CONNECTIONS, REQUESTS = 4, 200


def java_client(make: Make, name: str, begin: int, seed: int) -> list[Connection]:
    """A client that sends a request on one of its connections each 20 ms, numbered as it sends them."""
    random_of = random.Random(seed)
    connections = [make(f"{name}{n}", begin + n * 20, None, apis={PRODUCE}) for n in range(CONNECTIONS)]
    for number in range(REQUESTS):
        which = number if number < CONNECTIONS else random_of.randrange(CONNECTIONS)
        connections[which].ids.append(((begin + number * 20) * MS, number))
    return connections


@pytest.mark.parametrize("seed", range(5))
def test_each_connection_goes_to_the_counter_that_numbered_it(connection: Make, seed: int) -> None:
    """Their counters are 500 ms, 25 requests, apart."""
    made = [java_client(connection, name, begin, seed) for name, begin in (("a", 0), ("b", 500), ("c", 1_010))]
    members = sorted((c for client in made for c in client), key=lambda c: (c.begin_ns, c.conn_id))
    candidates = candidates_by_counter(members)
    assert [{c.conn_id for c in candidate.connections} for candidate in candidates] == [
        {c.conn_id for c in client} for client in made
    ]
    assert {reason for candidate in candidates for reason in candidate.reasons} == {
        "one counter of correlation ids over all its connections"
    }


def test_a_client_that_starts_again_is_another_one(connection: Make) -> None:
    first = connection("first", 0, 100, apis={PRODUCE}, ids=[(10 * MS, 0), (20 * MS, 1)])
    again = connection("again", 5_000, None, apis={PRODUCE}, ids=[(5_010 * MS, 0), (5_020 * MS, 1)])
    assert len(candidates_by_counter([first, again])) == 2
    goes_on = connection("goes on", 150, None, apis={PRODUCE}, ids=[(160 * MS, 2), (170 * MS, 3)])
    assert len(candidates_by_counter([first, goes_on])) == 1


@pytest.mark.parametrize(
    ("software", "numbers", "shared"),
    [
        ("apache-kafka-java", [0, 1, 2], True),
        ("librdkafka", [0, 5, 9], False),
        (None, [0, 5, 9], True),
        (None, [7, 8, 9], False),
        (None, [0, 5], False),
    ],
)
def test_software_or_gaps_show_one_counter(
    connection: Make, software: str | None, numbers: list[int], shared: bool
) -> None:
    one = connection("c1", software_name=software, ids=[(n * MS, n) for n in numbers])
    assert counts_over_connections([one]) is shared
    assert is_consecutive(one) is (numbers == list(range(numbers[0], numbers[0] + len(numbers))))
