"""Compares the measured interval of a client's periodic request with the expected one. All times are milliseconds."""

from dataclasses import dataclass

from kafkascope_analyzer.dataset.tables.event_kinds.connections import LoopStatistics
from kafkascope_spark.stories.cadences import expectations as expect
from kafkascope_spark.stories.cadences.table import CadenceVerdict, ExpectedFrom
from kafkascope_spark.stories.libraries.registry import library

MIN_GAPS = 2
"""Fewest gaps that show a period."""
LATE_FACTOR = 1.5
"""An interval this many times as long as expected is late: clients check their timers between polls."""
SLACK_MS = 1_000


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The client's and the group's settings, as far as packets show them; None where they do not."""

    library: str = "unknown"
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    max_wait_ms: int | None = None
    session_lifetime_ms: int | None = None
    lived_ms: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The expected interval, its source, and the result of the comparison."""

    expected_ms: int | None
    expected_from: ExpectedFrom | None
    verdict: CadenceVerdict


def verdict_of(measured: LoopStatistics, settings: ClientSettings) -> Verdict:
    """The verdict on a measured interval of a client with these settings."""
    return _RULES[measured.cadence](measured, settings)


def _heartbeat(measured: LoopStatistics, settings: ClientSettings) -> Verdict:
    """The verdict on heartbeats. Expected are the interval that the group sets for KIP-848 members, at least three
    heartbeats in a session timeout for classic ones (see heartbeat.interval.ms), else the default."""
    session = settings.session_timeout_ms
    source: ExpectedFrom
    if settings.heartbeat_interval_ms is not None:
        expected, source = settings.heartbeat_interval_ms, "heartbeat_response"
        late = measured.p99 > expected * LATE_FACTOR + SLACK_MS
    elif session is not None:
        expected, source = session // 3, "join_group"
        late = measured.max > session or measured.p50 > expected + SLACK_MS
    else:
        expected, source = expect.HEARTBEAT_MS, "default"
        late = measured.p50 > expected * LATE_FACTOR + SLACK_MS
    fast = measured.p50 * 4 < min(expected, expect.HEARTBEAT_MS)
    return _if_periodic(measured, expected, source, "late" if late else "fast" if fast else "as_expected")


def _fetch(measured: LoopStatistics, settings: ClientSettings) -> Verdict:
    """The verdict on Fetch: a broker responds within fetch.max.wait.ms, and a client that polls fetches again at
    once."""
    if settings.max_wait_ms is None:
        return Verdict(None, None, "unknown")
    late = measured.p50 > settings.max_wait_ms + SLACK_MS
    return _if_periodic(measured, settings.max_wait_ms, "fetch_request", "late" if late else "as_expected")


def _commit(measured: LoopStatistics, settings: ClientSettings) -> Verdict:
    """The verdict on automatic commits."""
    expected = library(settings.library).commit_ms
    if expected is None:
        return Verdict(None, None, "unknown")
    late, fast = measured.p50 > expected * LATE_FACTOR + SLACK_MS, measured.p50 * 2 < expected
    return _if_periodic(measured, expected, "default", "late" if late else "fast" if fast else "as_expected")


def _metadata(measured: LoopStatistics, settings: ClientSettings) -> Verdict:
    """The verdict on Metadata refreshes. A client that refreshes ten times as often as expected lacks a leader or
    topic."""
    expected = library(settings.library).metadata_ms
    if measured.max > expected * LATE_FACTOR:
        return Verdict(expected, "default", "late")
    if measured.n >= 10 and measured.p50 * 10 < expected:
        return Verdict(expected, "default", "fast")
    return Verdict(expected, "default", "as_expected" if settings.lived_ms >= expected else "unknown")


def _poll_gap(measured: LoopStatistics, settings: ClientSettings) -> Verdict:
    """The verdict on the gap between polls; the rebalance timeout of JoinGroup is max.poll.interval.ms."""
    known = settings.rebalance_timeout_ms
    expected = known if known is not None else expect.MAX_POLL_INTERVAL_MS
    late = measured.max > expected
    return Verdict(expected, "join_group" if known is not None else "default", "late" if late else "as_expected")


def _idle(measured: LoopStatistics, settings: ClientSettings) -> Verdict:
    """The verdict on idle time before a close. Kafka's own limits are expected; a shorter one is that of a
    middlebox."""
    del settings
    idle = measured.max
    for limit in (expect.CLIENT_IDLE_MS, expect.BROKER_IDLE_MS):
        if limit - expect.IDLE_UNDERSHOOT_MS <= idle <= limit + expect.IDLE_TOLERANCE_MS:
            return Verdict(limit, "default", "as_expected")
    for limit in expect.MIDDLEBOX_IDLE_MS:
        if limit - expect.IDLE_UNDERSHOOT_MS <= idle <= limit + expect.IDLE_TOLERANCE_MS:
            return Verdict(expect.CLIENT_IDLE_MS, "default", "fast")
    if idle > expect.BROKER_IDLE_MS + expect.IDLE_TOLERANCE_MS:
        return Verdict(expect.BROKER_IDLE_MS, "default", "late")
    return Verdict(None, None, "unknown")


def _in_flight(measured: LoopStatistics, settings: ClientSettings) -> Verdict:
    """The verdict on requests in flight, against max.in.flight.requests.per.connection."""
    del settings
    more = measured.max > expect.MAX_IN_FLIGHT
    return Verdict(expect.MAX_IN_FLIGHT, "default", "fast" if more else "as_expected")


def _reauthentication(measured: LoopStatistics, settings: ClientSettings) -> Verdict:
    """The verdict on re-authentication. Clients authenticate again after 85 to 95 % of the session lifetime (KIP-368);
    after it the broker closes the connection."""
    lifetime = settings.session_lifetime_ms
    if lifetime is None:
        return Verdict(None, None, "unknown")
    fast = measured.p50 * 2 < lifetime
    late = measured.max >= lifetime
    return Verdict(lifetime, "sasl_authenticate", "late" if late else "fast" if fast else "as_expected")


def _if_periodic(measured: LoopStatistics, expected: int, source: ExpectedFrom, verdict: CadenceVerdict) -> Verdict:
    """The verdict, or `unknown` where there were too few gaps to show a period."""
    return Verdict(expected, source, verdict if measured.n >= MIN_GAPS else "unknown")


_RULES = {
    "heartbeat": _heartbeat,
    "fetch": _fetch,
    "commit": _commit,
    "metadata_refresh": _metadata,
    "poll_gap": _poll_gap,
    "idle_before_close": _idle,
    "in_flight": _in_flight,
    "reauthentication": _reauthentication,
}
