from collections.abc import Callable

import pytest

from kafkascope_spark import api_keys
from kafkascope_spark.identity.software import guess_software
from kafkascope_spark.model import Connection

MS = 1_000_000
Make = Callable[..., Connection]


@pytest.mark.parametrize(
    ("versions", "software"),
    [
        ({api_keys.FETCH: 16, api_keys.HEARTBEAT: 3}, "librdkafka"),
        ({api_keys.PRODUCE: 7, api_keys.JOIN_GROUP: 5}, None),
        ({api_keys.FETCH: 11, api_keys.HEARTBEAT: 1}, "aiokafka"),
        ({api_keys.PRODUCE: 13}, None),
        ({api_keys.FETCH: 18, api_keys.OFFSET_COMMIT: 10}, "kgo"),
        ({api_keys.FETCH: 4}, None),
        ({}, None),
    ],
)
def test_only_versions_of_one_library_give_it_away(
    connection: Make, versions: dict[int, int], software: str | None
) -> None:
    assert guess_software([connection("a", versions=versions)]) == software


def test_one_counter_over_connections_is_the_java_client(connection: Make) -> None:
    def sent(conn_id: str, *ids: int) -> Connection:
        return connection(conn_id, software_name=None, ids=[(i * MS, i) for i in ids])

    assert guess_software([sent("a", 40, 43, 44, 47), sent("b", 41, 42, 45, 46, 49)]) == "apache-kafka-java"
    assert guess_software([sent("a", 40, 41, 42, 43), sent("b", 7, 8, 9, 10)]) is None
