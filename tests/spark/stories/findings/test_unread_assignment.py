"""Whether Spark is asked about partitions that a member never fetches: reads made by hand, a near miss for each
condition."""

from typing import Any

import pyarrow as pa
import pytest

from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import largest
from kafkascope_spark.stories.findings.rules.unread_assignment import RULE

LAST = str(largest("ts_ns"))
LONG_NS = limit.UNREAD_MS * 1_000_000
MEMBERS = pa.list_(pa.struct([("client_instance_id", pa.string()), ("assigned", pa.list_(pa.string()))]))


def may_be_unread(**other: Any) -> bool:
    """orders-0 and orders-1 are assigned at 100 ns to a client that fetches orders-0 alone, for as long as counts; both
    are written to. other: rows of a read, in place of these."""
    members = [{"client_instance_id": "ci-1", "assigned": ["orders-0", "orders-1"]}]
    rows: dict[str, list[tuple[Any, ...]]] = {
        "settled": [("readers", 100, "r-1", members)],
        "written_places": [("orders", 0, 100 + LONG_NS), ("orders", 1, 100 + LONG_NS)],
        "fetched_places": [("c1", "orders", 0, 100 + LONG_NS)],
        "owners": [("ci-1", ["c1", "c2"]), ("ci-2", ["c3"])],
        **other,
    }
    types = {"end_ns": pa.int64(), "partition": pa.int32(), LAST: pa.int64(), "members": MEMBERS}
    types["conn_ids"] = pa.list_(pa.string())
    detector = RULE.detectors[0]
    assert detector.candidates is not None
    columns = detector.candidates.columns
    tables = {
        read: pa.table(
            {
                name: pa.array([row[at] for row in rows[read]], types.get(name, pa.string()))
                for at, name in enumerate(names)
            }
        )
        for read, names in columns.items()
    }
    return detector.candidates.exist(tables)


def assigned(*places: str, client: str = "ci-1") -> list[dict[str, Any]]:
    return [{"client_instance_id": client, "assigned": list(places)}]


def test_a_partition_that_its_member_never_fetched_may_be_one() -> None:
    assert may_be_unread()


@pytest.mark.parametrize(
    "other",
    [
        {"fetched_places": [("c1", "orders", 0, 100 + LONG_NS), ("c2", "orders", 1, 200)]},
        {"fetched_places": [("c1", "orders", 0, 99 + LONG_NS)]},
        {"written_places": [("orders", 0, 100 + LONG_NS), ("orders", 1, 99 + LONG_NS)]},
        {"written_places": [("orders", 0, 100 + LONG_NS)]},
        {"settled": [("readers", 100, "r-1", assigned("orders-0"))]},
        {"settled": [("readers", 100, "r-1", [{"client_instance_id": "ci-1", "assigned": None}])]},
        {"settled": [("readers", 100, "r-1", assigned("orders-1", client="ci-2"))]},
        {
            "settled": [
                ("readers", 100, "r-2", assigned("orders-0")),
                ("readers", 90, "r-1", assigned("orders-0", "orders-1")),
            ]
        },
    ],
)
def test_one_that_was_fetched_or_not_written_to_or_given_up_is_none(other: dict[str, Any]) -> None:
    """Fetched on another connection of the client; not for long; of a client that fetches nothing; of an earlier
    generation."""
    assert not may_be_unread(**other)


def test_each_group_has_a_last_assignment() -> None:
    first = ("a", 500, "r-1", assigned("orders-0"))
    assert may_be_unread(settled=[first, ("b", 100, "r-2", assigned("orders-1"))])
