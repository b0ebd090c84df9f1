"""Which stalls may be by choice, and that stalls are called unexplained only after every detector has looked."""

import pytest

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_spark.stories.incidents.course.sightings import NO_PACKETS
from kafkascope_spark.stories.incidents.detection import Detection, may_be_by_choice
from kafkascope_spark.stories.incidents.detectors import Detectors
from kafkascope_spark.stories.incidents.observations import Observations
from kafkascope_spark.stories.incidents.packets.leadership import Leadership
from kafkascope_spark.stories.stalls.table import StallKind

from .conftest import MakeStall


@pytest.mark.parametrize(
    ("kind", "group_id", "by_choice"),
    [("consume", None, True), ("consume", "billing", False), ("admin", None, True), ("produce", None, False)],
)
def test_a_consumer_without_a_group_and_an_admin_request_may_wait_by_choice(
    stall: MakeStall, kind: StallKind, group_id: str | None, by_choice: bool
) -> None:
    row = stall(kind, 21, 1, 5, 8)
    row.group_id = group_id
    assert may_be_by_choice(row) is by_choice


@pytest.mark.parametrize("has_failed", [False, True])
def test_a_stall_is_unexplained_only_after_every_detector_has_looked(stall: MakeStall, has_failed: bool) -> None:
    rows, run = Observations(), Detectors(FailedParts())
    rows.take(stall("produce", 21, 1, 5, 8))
    if has_failed:
        run.found("brokers", lambda: next(iter(())))
    found = Detection(rows, run, lambda _: Leadership(), NO_PACKETS, 0, 1000).failures()
    assert [failure.kind.name for failure in found] == ([] if has_failed else ["unexplained"])
