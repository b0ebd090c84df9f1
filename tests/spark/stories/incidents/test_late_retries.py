"""Clients that send again only long after a refusal that was over after a moment."""

from collections.abc import Callable

import pytest

from kafkascope_spark.stories.incidents.affected_client import AffectedClient

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
