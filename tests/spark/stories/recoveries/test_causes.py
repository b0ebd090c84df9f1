import sys
from types import FrameType
from typing import Any

from kafkascope_analyzer.dataset.row_types import column_fields
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS, GAP_NS, SECOND, Causes
from kafkascope_spark.stories.recoveries.table import Recovery


def episode(at: float, error: str, resource: str, node: int | None = None, **changes: Any) -> Recovery:
    kind = "connection" if ":" in resource else "partition"
    row = dict.fromkeys(column_fields(Recovery)) | {
        "recovery_id": f"rec-{at}-{resource}",
        "client_instance_id": "ci-1",
        "resource_kind": kind,
        "resource": resource,
        "first_error_name": error,
        "start_ns": int(at * SECOND),
        "failing_ns": None,
        "recovered_ns": None,
        "old_node_id": node,
    }
    return Recovery(**row | changes)


def causes(*episodes: Recovery) -> list[str]:
    assigned = Causes()
    return [assigned.cause_of(row) for row in episodes]


def test_a_brokers_death_is_one_cause_over_clients_partitions_and_its_other_ports() -> None:
    cause_ids = causes(
        episode(1.0, "CONNECTION_CLOSED", "10.0.0.3:9092", 3),
        episode(1.1, "CONNECTION_REFUSED", "10.0.0.3:9092", 3, client_instance_id="ci-2"),
        episode(1.2, "CONNECTION_CLOSED", "10.0.0.3:9093", None, client_instance_id="ci-3"),
        *(episode(1.3 + i / 1000, "NOT_LEADER_OR_FOLLOWER", f"t-{i}", 3) for i in range(300)),
        episode(2.0, "NOT_COORDINATOR", "g", 3, resource_kind="coordinator"),
        episode(2.5, "LEADER_NOT_AVAILABLE", "t"),
        episode(3.0, "COORDINATOR_LOAD_IN_PROGRESS", "g", 1, resource_kind="coordinator", client_instance_id="ci-9"),
    )
    assert len(set(cause_ids)) == 1


def test_another_node_another_time_and_another_error_are_other_causes() -> None:
    first = episode(1.0, "CONNECTION_CLOSED", "10.0.0.3:9092", 3)
    cause_ids = causes(
        first,
        episode(1.5, "NOT_LEADER_OR_FOLLOWER", "t-0", 2),
        episode(1.6, "TOPIC_AUTHORIZATION_FAILED", "t-0", 3),
        episode(60.0, "CONNECTION_CLOSED", "10.0.0.3:9092", 3),
    )
    assert len(set(cause_ids)) == 4


def test_a_cause_lasts_as_long_as_its_episodes_and_a_gap() -> None:
    long = episode(1.0, "CONNECTION_CLOSED", "10.0.0.3:9092", 3, recovered_ns=41 * SECOND)
    inside = episode(41.0 + GAP_NS / SECOND, "CONNECTION_REFUSED", "10.0.0.3:9092", 3, client_instance_id="ci-2")
    outside = episode(41.1 + GAP_NS / SECOND, "CONNECTION_REFUSED", "10.0.0.3:9092", 3, client_instance_id="ci-2")
    assert len(set(causes(long, inside))) == 1
    assert len(set(causes(long, outside))) == 2


def test_what_follows_from_a_lost_broker_follows_it_soon_and_memberships_only_for_those_that_felt_it() -> None:
    lost = episode(1.0, "CONNECTION_CLOSED", "10.0.0.3:9092", 3)
    late = episode(1.1 + FOLLOWS_NS / SECOND, "LEADER_NOT_AVAILABLE", "t")
    evicted = episode(5.0, "UNKNOWN_MEMBER_ID", "g", 1, resource_kind="group")
    stranger = episode(5.0, "UNKNOWN_MEMBER_ID", "h", 1, resource_kind="group", client_instance_id="ci-2")
    assert len(set(causes(lost, late))) == 2
    assert len(set(causes(lost, evicted))) == 1
    assert len(set(causes(lost, stranger))) == 2


def test_an_address_that_serves_several_nodes_says_nothing_about_its_other_ports() -> None:
    cause_ids = causes(
        episode(1.0, "CONNECTION_CLOSED", "10.0.0.9:9092", 1),
        episode(1.1, "CONNECTION_CLOSED", "10.0.0.9:9192", 2),
        episode(1.2, "CONNECTION_CLOSED", "10.0.0.9:9292", None),
    )
    assert len(set(cause_ids)) == 3


def test_one_refused_permission_is_one_cause_for_all_clients() -> None:
    cause_ids = causes(
        episode(1.0, "TOPIC_AUTHORIZATION_FAILED", "t", 1),
        episode(3.0, "TOPIC_AUTHORIZATION_FAILED", "t", 2, client_instance_id="ci-2"),
        episode(3.0, "TOPIC_AUTHORIZATION_FAILED", "other", 2, client_instance_id="ci-2"),
    )
    assert cause_ids[0] == cause_ids[1] != cause_ids[2]


def test_a_silent_broker_is_the_cause_from_the_request_that_it_left_alone() -> None:
    """Its link is cut at 1.0: leaders that wait for its replicas say so before its own clients notice anything."""
    silent = episode(6.5, "RESPONSE_LATE", "10.0.0.3:9092", 3, failing_ns=SECOND, recovered_ns=20 * SECOND)
    given_up = episode(9.0, "REQUEST_UNANSWERED", "10.0.0.3:9092", 3, failing_ns=2 * SECOND, client_instance_id="ci-2")
    cause_ids = causes(silent, given_up, episode(5.0, "REQUEST_TIMED_OUT", "t-1", 1))
    assert len(set(cause_ids)) == 1
    joining = episode(9.0, "CONNECTION_CLOSED", "10.0.0.4:9092", 4, failing_ns=SECOND)
    assert joining.affected_ns == joining.start_ns


def test_thousands_of_causes_at_one_time_are_not_looked_through_for_each_episode() -> None:
    """Servers fail one after the other, and what follows elsewhere comes to clients that felt none of it."""

    def passes(n: int) -> int:
        count = 0

        def counted(_frame: FrameType, event: str, _: object) -> None:
            nonlocal count
            count += event == "call"

        rows = []
        for i in range(n):
            rows.append(episode(1 + i / n, "CONNECTION_REFUSED", f"10.0.{i}.1:9092", client_instance_id=f"ci-{i}"))
            of_group = {"client_instance_id": f"other-{i}", "resource_kind": "group"}
            rows.append(episode(1 + i / n, "UNKNOWN_MEMBER_ID", f"group-{i}", **of_group))
        before = sys.getprofile()
        sys.setprofile(counted)
        try:
            causes(*rows)
        finally:
            sys.setprofile(before)
        return count

    assert passes(400) < 5 * passes(100)
