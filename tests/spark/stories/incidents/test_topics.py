"""The topic and the partition of a recovery, from the resource that it names."""

import pytest

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.incidents.failures.topics import is_of_group, partitions_of, topic_of
from kafkascope_spark.stories.recoveries.table import Recovery

from .conftest import row_of


def about(resource: str, kind: str = "partition", api: int = api_keys.PRODUCE) -> Recovery:
    return row_of(Recovery, resource=resource, resource_kind=kind, first_api_key=api)


@pytest.mark.parametrize(
    ("recovery", "topic", "partitions"),
    [
        (about("orders-7"), "orders", [7]),
        (about("orders-eu-12"), "orders-eu", [12]),
        (about("orders-7", api=api_keys.METADATA), "orders-7", []),  # Metadata is about topics alone
        (about("orders"), "orders", []),
        (about("orders-"), "orders-", []),
        (about("-7"), "-7", []),
        (about("orders-4294967296"), "orders-4294967296", []),  # no partition has such a number
        (about("billing-7", "group"), None, []),
    ],
)
def test_topic_and_partition(recovery: Recovery, topic: str | None, partitions: list[int]) -> None:
    assert (topic_of(recovery), partitions_of([recovery])) == (topic, partitions)


def test_partitions_are_listed_once_and_sorted() -> None:
    assert partitions_of([about("b-10"), about("a-2"), about("b-2")]) == [2, 10]


def test_errors_of_groups_name_no_topic() -> None:
    group = about("billing", "group")
    assert is_of_group([group, group])
    assert not is_of_group([group, about("orders-7")])
    assert not is_of_group([])
