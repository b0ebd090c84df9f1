"""Libraries by their behaviour. The versions, first requests and correlation ids are those of recorded clients, towards
brokers 4.3, 3.9 and 2.8; tshark shows the same."""

import itertools
from collections.abc import Callable

import pytest

from kafkascope_parsers import api_keys as api
from kafkascope_spark.stories.clients.identity.library import (
    library_by_behaviour,
    library_named,
    library_of,
    software_name_of,
)
from kafkascope_spark.stories.libraries.registry import LIBRARIES
from kafkascope_spark.stories.libraries.versions import APIS, RELEASES
from kafkascope_spark.stories.model import Connection

MS = 1_000_000
Make = Callable[..., Connection]
Begin = tuple[int, dict[int, int]]
"""First correlation id of a connection, and its versions, the first request's first."""


def of(connection: Make, *begins: Begin, in_capture: bool = True) -> str:
    """The library of a client whose connections, one after the other, begin so."""
    made = []
    for n, (first_id, versions) in enumerate(begins):
        ids = [((n * 10 + i) * MS, first_id + i) for i in range(4)]
        seen = {} if in_capture else {"syn_ns": None, "up_ns": None}
        made.append(connection(f"c{n}", n * 10, software_name=None, versions=versions, ids=ids, **seen))
    return library_by_behaviour(made)


@pytest.mark.parametrize(
    ("library", "begins"),
    [
        ("kafkajs", [(0, {api.API_VERSIONS: 2, api.METADATA: 6}), (0, {api.PRODUCE: 7})]),
        ("kafkajs", [(0, {api.API_VERSIONS: 2, api.SASL_HANDSHAKE: 1, api.METADATA: 6}), (0, {api.FETCH: 11})]),
        ("aiokafka", [(1, {api.API_VERSIONS: 0, api.METADATA: 5}), (1, {api.API_VERSIONS: 0, api.PRODUCE: 7})]),
        ("aiokafka", [(1, {api.METADATA: 0}), (1, {api.API_VERSIONS: 0, api.FIND_COORDINATOR: 1, api.FETCH: 4})]),
        ("kafka-python", [(1, {api.API_VERSIONS: 0, api.METADATA: 0}), (1, {api.FIND_COORDINATOR: 0, api.FETCH: 4})]),
        ("kafka-python", [(1, {api.FIND_COORDINATOR: 0, api.METADATA: 1}), (1, {api.JOIN_GROUP: 0, api.FETCH: 2})]),
        ("librdkafka", [(1, {api.API_VERSIONS: 0, api.METADATA: 2}), (1, {api.API_VERSIONS: 0, api.HEARTBEAT: 0})]),
        ("sarama", [(0, {api.METADATA: 5}), (0, {api.PRODUCE: 3})]),
        ("sarama", [(0, {api.METADATA: 0}), (0, {api.PRODUCE: 0})]),
        ("kafka-go", [(1, {api.API_VERSIONS: 0, api.JOIN_GROUP: 1}), (1, {api.API_VERSIONS: 0, api.FETCH: 10})]),
    ],
)
def test_who_sends_no_name_is_recognised_by_the_beginning_of_connections(
    connection: Make, library: str, begins: list[Begin]
) -> None:
    assert of(connection, *begins) == library


def test_two_libraries_that_behave_alike_are_unknown(connection: Make) -> None:
    without_versions = (1, {api.METADATA: 0}), (1, {api.PRODUCE: 1})
    assert of(connection, *without_versions) == "unknown", "librdkafka and kafka-python, told not to ask for versions"
    fetcher = (40, {api.FETCH: 12, api.OFFSET_COMMIT: 8, api.HEARTBEAT: 4})
    assert of(connection, fetcher, in_capture=False) == "unknown", "sarama and kafka-python of today"


@pytest.mark.parametrize(
    ("versions", "library"),
    [
        ({api.FETCH: 16, api.HEARTBEAT: 3}, "librdkafka"),
        ({api.PRODUCE: 7, api.JOIN_GROUP: 5}, "unknown"),
        ({api.FETCH: 11, api.HEARTBEAT: 1}, "aiokafka"),
        ({api.FETCH: 18, api.OFFSET_COMMIT: 10}, "unknown"),
        ({api.PRODUCE: 13}, "unknown"),
        ({api.FETCH: 4}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_versions_alone_decide_where_only_one_library_sends_them(
    connection: Make, versions: dict[int, int], library: str
) -> None:
    assert of(connection, (40, versions), in_capture=False) == library


def test_versions_are_those_of_one_broker_release(connection: Make) -> None:
    older_broker = {api.API_VERSIONS: 0, api.METADATA: 5, api.FETCH: 10}
    assert of(connection, (1, older_broker)) == "aiokafka", "Fetch 10 towards brokers 2.1"
    both = {api.API_VERSIONS: 0, api.METADATA: 5, api.FETCH: 10, api.JOIN_GROUP: 5}
    assert of(connection, (1, both)) == "unknown", "no broker has Fetch 10 and JoinGroup 5"


def test_one_counter_over_connections_is_the_java_client(connection: Make) -> None:
    def sent(conn_id: str, *ids: int) -> Connection:
        return connection(conn_id, software_name=None, ids=[(i * MS, i) for i in ids])

    assert library_of([sent("a", 40, 43, 44, 47), sent("b", 41, 42, 45, 46, 49)]) == "java"
    assert library_of([sent("a", 40, 41, 42, 43), sent("b", 7, 8, 9, 10)]) == "unknown"


def test_reserved_ids_of_sasl_requests_are_the_java_client(connection: Make) -> None:
    authenticating = connection("a", software_name=None, has_reserved_ids=True, versions={api.API_VERSIONS: 0})
    assert library_of([authenticating]) == "java"


def test_the_name_decides_where_there_is_one(connection: Make) -> None:
    assert library_of([connection("a", software_name="confluent-kafka-python", versions={api.FETCH: 18})]) == (
        "librdkafka"
    )
    assert library_of([connection("a", software_name="my own client", versions={api.FETCH: 16})]) == "unknown"


def test_every_library_has_a_profile_and_a_name() -> None:
    assert all(library.profiles and library.software_names for library in LIBRARIES)
    assert all(library_named(software_name_of(library.name)) == library.name for library in LIBRARIES)
    assert software_name_of("librdkafka") == "librdkafka", "which of its wrappers a client uses is not known"
    assert all(len(release) == len(APIS) for release in RELEASES)
    for older, newer in itertools.pairwise(RELEASES):
        assert all(a <= b for a, b in zip(older, newer, strict=True))
