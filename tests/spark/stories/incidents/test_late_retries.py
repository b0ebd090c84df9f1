"""Clients that send again only long after a refusal that was over after a moment."""

from collections.abc import Callable

import pytest

from kafkascope_spark.stories.incidents.clients.late_retries import late_retries
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient

from .advised import advised
from .conftest import NS, MakeRow, MakeStall
from .test_machine import tell

REFUSED = "CONCURRENT_TRANSACTIONS"


@pytest.mark.parametrize(("retried_s", "kind"), [(10.7, "late_retry"), (6.3, "unexplained")])
def test_a_producer_that_pauses_for_most_of_its_stall_stalled_by_itself(
    retried_s: float, kind: str, stall: MakeStall, recovery: MakeRow, client: Callable[..., AffectedClient]
) -> None:
    """Recorded of franz-go: it got the error once for each batch, and waited for new metadata, for which it asks every
    five seconds at most (MetadataMinAge in its config.go). Oracle: the times of its requests."""
    waited = stall("produce", 21, 2, 5.9, 10.7, error_names=(REFUSED,))
    refused = recovery(
        REFUSED,
        21,
        2,
        6,
        10.7,
        resource_kind="transaction",
        resource="tx-1",
        first_api_key=0,
        n_errors=1,
        retried_ns=int(retried_s * NS),
    )
    (incident,), kinds = tell([], [waited], [refused], clients=[client(21, "franz-go")])
    assert (incident["kind"], incident["severity"], incident["node_id"]) == (kind, "warning", None)
    assert kinds == {waited.stall_id: kind}
    if kind == "late_retry":
        assert "got CONCURRENT_TRANSACTIONS once for tx-1" in incident["sentence"]
        assert "and sent the same again up to 4.70 s later, which succeeded" in incident["sentence"]
        assert "kgo.MetadataMinAge (franz-go, default 5 s)" in advised(incident)


@pytest.mark.parametrize(
    ("of_recovery", "of_stall", "found"),
    [
        ({}, {}, True),
        ({"outcome": "gave_up"}, {}, False),
        ({"first_api_key": None}, {}, False),  # nobody refused it: its connection failed
        ({"retried_ns": None}, {}, False),
        ({"retried_ns": int(8.3 * NS)}, {}, False),  # it paused for less than half of the stall
        ({"retried_ns": int(8.4 * NS)}, {}, True),
        ({}, {"error_names": ("NOT_LEADER_OR_FOLLOWER",)}, False),
        ({}, {"error_names": ()}, True),
        ({}, {"client_instance_id": "ci-22"}, False),
        ({}, {"from_ns": 7 * NS}, False),  # the error came before the stall
    ],
)
def test_only_a_pause_after_a_refusal_explains_a_stall(
    of_recovery: dict[str, object],
    of_stall: dict[str, object],
    found: bool,
    stall: MakeStall,
    recovery: MakeRow,
) -> None:
    """A stall of 4.8 s, refused at 6 s."""
    more = {"first_api_key": 0, "retried_ns": int(10.7 * NS)} | of_recovery
    refused = recovery(REFUSED, 21, 2, 6, 10.7, **more)
    waited = stall("produce", 21, 2, 5.9, 10.7, **{"error_names": (REFUSED,)} | of_stall)
    assert [failure.stalls for failure in late_retries([waited], [refused])] == [[waited]] * found
