import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.connections import LoopStatistics
from kafkascope_spark.stories.cadences.verdicts import ClientSettings as Settings
from kafkascope_spark.stories.cadences.verdicts import verdict_of
from kafkascope_spark.stories.tables import CADENCE_NAMES, CADENCES


def measured(cadence: str, p50: int, longest: int | None = None, n: int = 20) -> LoopStatistics:
    most = p50 if longest is None else longest
    return LoopStatistics(cadence, n, p50, most, most, conn_id="c1")


SET_BY_GROUP = Settings(heartbeat_interval_ms=5_000)
SESSION = Settings(session_lifetime_ms=10_000)


@pytest.mark.parametrize(
    ("loop", "settings", "expected"),
    [
        (measured("heartbeat", 3_000), Settings(session_timeout_ms=45_000), (15_000, "join_group", "as_expected")),
        (measured("heartbeat", 3_000, 46_000), Settings(session_timeout_ms=45_000), (15_000, "join_group", "late")),
        (measured("heartbeat", 3_000), Settings(), (3_000, "default", "as_expected")),
        (measured("heartbeat", 5_001), SET_BY_GROUP, (5_000, "heartbeat_response", "as_expected")),
        (measured("heartbeat", 9_500), SET_BY_GROUP, (5_000, "heartbeat_response", "late")),
        (measured("heartbeat", 100), SET_BY_GROUP, (5_000, "heartbeat_response", "fast")),
        (measured("heartbeat", 3_000, n=1), Settings(session_timeout_ms=45_000), (15_000, "join_group", "unknown")),
        (measured("fetch", 501), Settings(max_wait_ms=500), (500, "fetch_request", "as_expected")),
        (measured("fetch", 2_000), Settings(max_wait_ms=500), (500, "fetch_request", "late")),
        (measured("fetch", 2_000), Settings(), (None, None, "unknown")),
        (measured("poll_gap", 5, 60_001), Settings(rebalance_timeout_ms=60_000), (60_000, "join_group", "late")),
        (measured("poll_gap", 5, 60_001), Settings(), (300_000, "default", "as_expected")),
        (measured("commit", 5_000), Settings(library="java"), (5_000, "default", "as_expected")),
        (measured("commit", 100), Settings(library="java"), (5_000, "default", "fast")),
        (measured("commit", 1_000), Settings(library="kafkajs"), (None, None, "unknown")),
        (measured("metadata_refresh", 300_000), Settings(lived_ms=900_000), (300_000, "default", "as_expected")),
        (measured("metadata_refresh", 90, n=50), Settings(lived_ms=9_000), (300_000, "default", "fast")),
        (measured("metadata_refresh", 90, n=2), Settings(lived_ms=9_000), (300_000, "default", "unknown")),
        (measured("idle_before_close", 540_300), Settings(), (540_000, "default", "as_expected")),
        (measured("idle_before_close", 600_100), Settings(), (600_000, "default", "as_expected")),
        (measured("idle_before_close", 240_100), Settings(), (540_000, "default", "fast")),
        (measured("idle_before_close", 900_000), Settings(), (600_000, "default", "late")),
        (measured("in_flight", 1, 5), Settings(), (5, "default", "as_expected")),
        (measured("in_flight", 1, 6), Settings(), (5, "default", "fast")),
        (measured("reauthentication", 9_000), SESSION, (10_000, "sasl_authenticate", "as_expected")),
        (measured("reauthentication", 9_000, 10_500), SESSION, (10_000, "sasl_authenticate", "late")),
    ],
)
def test_verdict_compares_the_measured_interval_with_the_expected_one(
    loop: LoopStatistics, settings: Settings, expected: tuple[int | None, str | None, str]
) -> None:
    verdict = verdict_of(loop, settings)
    assert (verdict.expected_ms, verdict.expected_from, verdict.verdict) == expected
    assert verdict.verdict in CADENCES.column("verdict").values
    assert verdict.expected_from is None or verdict.expected_from in CADENCES.column("expected_from").values


def test_every_cadence_has_a_rule() -> None:
    for name in CADENCE_NAMES:
        assert verdict_of(measured(name, 1), Settings()).verdict
