from collections.abc import Callable

import pytest

from kafkascope_spark import wire
from kafkascope_spark.identity.software import guess_software
from kafkascope_spark.wire import Connection

MS = 1_000_000
Make = Callable[..., Connection]


@pytest.mark.parametrize(
    ("versions", "software"),
    [
        ({wire.FETCH: 16, wire.HEARTBEAT: 3}, "librdkafka"),
        ({wire.PRODUCE: 7, wire.JOIN_GROUP: 5}, None),
        ({wire.FETCH: 11, wire.HEARTBEAT: 1}, "aiokafka"),
        ({wire.PRODUCE: 13}, None),
        ({wire.FETCH: 18, wire.OFFSET_COMMIT: 10}, "kgo"),
        ({wire.FETCH: 4}, None),
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
