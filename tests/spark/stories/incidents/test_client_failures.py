"""Failures of clients that stalled by themselves, from silences and rebalances written by hand. Times are seconds."""

from dataclasses import replace

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.groups.table import DepartedMember, RebalanceRow
from kafkascope_spark.stories.incidents.clients.client_failures import (
    AFTER_SILENCE,
    APART_NS,
    client_failures,
    groups_of,
    pauses_of,
)
from kafkascope_spark.stories.incidents.kinds.client import CLIENT

from .conftest import NS, MakeRow, row_of


def removed(rebalance: MakeRow, at: float, host: int, last_seen: float, how: str = "evicted") -> RebalanceRow:
    """A rebalance at a second without the client at a host."""
    member = row_of(
        DepartedMember, client_instance_id=f"ci-{host}", how=how, last_seen_ns=int(last_seen * NS), member_id="m"
    )
    made: RebalanceRow = replace(rebalance(at, at + 1), departed=(member,), group_id="billing")
    return made


def test_clients_that_stopped_and_went_on_together_are_one_failure(silent: MakeRow) -> None:
    """A host that was suspended: both pauses begin and end within a second."""
    rows = [silent(21, 5, 20), silent(22, 5.9, 20.5), silent(23, 5.5, 30), silent(24, 8, 20)]
    together, longer, later = client_failures(rows, [])
    assert (together.kind, together.hosts) == (CLIENT, {"10.0.0.21", "10.0.0.22"})
    assert together.subject == "client-21 (10.0.0.21), client-22 (10.0.0.22)"
    assert (together.start_ns, together.end_ns) == (5 * NS, int(20.5 * NS))
    assert (longer.hosts, later.hosts) == ({"10.0.0.23"}, {"10.0.0.24"})


def test_one_that_never_went_on_is_not_paused_with_one_that_did(silent: MakeRow) -> None:
    assert [each.end_ns for each in client_failures([silent(21, 5, 20), silent(22, 5, None)], [])] == [20 * NS, None]
    (both,) = client_failures([silent(21, 5, None), silent(22, 5, None)], [])
    assert pauses_of(both) == [(5 * NS, FOREVER)] * 2


def test_a_process_that_stops_again_soon_is_so_for_one_reason(silent: MakeRow) -> None:
    apart_s = APART_NS / NS
    (again,) = client_failures([silent(21, 5, 10), silent(21, 10 + apart_s, 50)], [])
    assert pauses_of(again) == [(5 * NS, 10 * NS), (40 * NS, 50 * NS)]
    assert again.end_ns == 50 * NS
    assert len(client_failures([silent(21, 5, 10), silent(21, 11 + apart_s, 50)], [])) == 2
    assert len(client_failures([silent(21, 5, 10), silent(22, 15, 20)], [])) == 2


def test_a_client_that_leaves_at_the_end_of_the_pause_was_closing(silent: MakeRow, rebalance: MakeRow) -> None:
    left = [removed(rebalance, at, 21, 5, how="left") for at in (20.5, 22)]
    assert client_failures([silent(21, 5, 20)], left[:1]) == []
    assert len(client_failures([silent(21, 5, 20)], left[1:])) == 1
    assert len(client_failures([silent(22, 5, 20)], left[:1])) == 1


def test_the_group_that_went_on_without_it(silent: MakeRow, rebalance: MakeRow) -> None:
    """It was removed for this silence; one of before, one of another client and one long afterwards are not its
    doing."""
    rows = [
        removed(rebalance, 15, 21, 5.5),
        removed(rebalance, 16, 21, 12),  # it sent something since
        removed(rebalance, 17, 22, 5),
        removed(rebalance, 4, 21, 3),
        removed(rebalance, 60, 21, 5),
    ]
    (failure,) = client_failures([silent(21, 5, 20)], rows)
    assert [row.rebalance_id for row in failure.rebalances] == ["reb-15"]
    assert set(groups_of(failure)) == {"orders-app", "billing"}


def test_data_that_a_client_did_not_read_waited(silent: MakeRow) -> None:
    unread = {"due_kind": "read", "due_ns": 7 * NS, "shown_ns": 30 * NS}
    (over,) = client_failures([silent(21, 5, 20, **unread)], [])
    (open_one,) = client_failures([silent(21, 5, None, **unread)], [])
    (heartbeat,) = client_failures([silent(21, 5, 20)], [])
    assert [each.waited_ms for each in (over, open_one, heartbeat)] == [13_000, 23_000, 0]
    later = {"due_kind": "read", "due_ns": 25 * NS, "shown_ns": 45 * NS}
    (both,) = client_failures([silent(21, 5, 20, **unread), silent(21, 24, 45, **later)], [])
    assert both.waited_ms == 20_000, "the longest wait of all its pauses"


def test_errors_after_a_pause_are_those_of_a_place_that_was_lost() -> None:
    """Its group removed it, or its transaction was aborted (Kafka's session and transaction timeouts)."""
    assert {"UNKNOWN_MEMBER_ID", "INVALID_PRODUCER_EPOCH", "FETCH_SESSION_ID_NOT_FOUND"} <= AFTER_SILENCE
    assert AFTER_SILENCE.isdisjoint({"TOPIC_AUTHORIZATION_FAILED", "NOT_LEADER_OR_FOLLOWER", "NONE"})
