"""Is a loop as it should be? Measured values against expected ones; all times in milliseconds."""

from dataclasses import dataclass

from kafkascope_spark.cadences import expectations as expect
from kafkascope_spark.wire import Measured

MIN_GAPS = 2
"""One gap is no rhythm."""
PATIENCE = 1.5
"""How much longer than expected is late: timers are looked at between polls."""
SLACK_MS = 1_000


@dataclass(frozen=True, slots=True)
class Terms:
    """What the wire shows of the client's and the group's settings; None where it does not."""

    library: str = "unknown"
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    max_wait_ms: int | None = None
    session_lifetime_ms: int | None = None
    lived_ms: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was expected, what says so, and how the loop compares."""

    expected_ms: int | None
    expected_from: str | None
    verdict: str


def verdict_of(measured: Measured, terms: Terms) -> Verdict:
    """The verdict on a loop of a client with these terms."""
    return _JUDGES[measured.cadence](measured, terms)


def _heartbeat(measured: Measured, terms: Terms) -> Verdict:
    """KIP-848 members: the interval that the group sets. Classic ones: at least three in a session timeout, as
    heartbeat.interval.ms demands; else the default."""
    session = terms.session_timeout_ms
    if terms.heartbeat_interval_ms is not None:
        wanted, source = terms.heartbeat_interval_ms, "heartbeat_response"
        late = measured.p99 > wanted * PATIENCE + SLACK_MS
    elif session is not None:
        wanted, source = session // 3, "join_group"
        late = measured.longest > session or measured.p50 > wanted + SLACK_MS
    else:
        wanted, source = expect.HEARTBEAT_MS, "default"
        late = measured.p50 > wanted * PATIENCE + SLACK_MS
    fast = measured.p50 * 4 < min(wanted, expect.HEARTBEAT_MS)
    return _told(measured, wanted, source, "late" if late else "fast" if fast else "as_expected")


def _fetch(measured: Measured, terms: Terms) -> Verdict:
    """A broker answers a Fetch within fetch.max.wait.ms; a client that polls asks again at once."""
    if terms.max_wait_ms is None:
        return Verdict(None, None, "unknown")
    late = measured.p50 > terms.max_wait_ms + SLACK_MS
    return _told(measured, terms.max_wait_ms, "fetch_request", "late" if late else "as_expected")


def _commit(measured: Measured, terms: Terms) -> Verdict:
    wanted = expect.COMMIT_MS.get(terms.library)
    if wanted is None:
        return Verdict(None, None, "unknown")
    late, fast = measured.p50 > wanted * PATIENCE + SLACK_MS, measured.p50 * 2 < wanted
    return _told(measured, wanted, "default", "late" if late else "fast" if fast else "as_expected")


def _metadata(measured: Measured, terms: Terms) -> Verdict:
    """Refreshed at least that often; much more often is a client that looks for something in vain."""
    wanted = expect.METADATA_MS.get(terms.library, expect.DEFAULT_METADATA_MS)
    if measured.longest > wanted * PATIENCE:
        return Verdict(wanted, "default", "late")
    if measured.n >= 10 and measured.p50 * 10 < wanted:
        return Verdict(wanted, "default", "fast")
    return Verdict(wanted, "default", "as_expected" if terms.lived_ms >= wanted else "unknown")


def _poll_gap(measured: Measured, terms: Terms) -> Verdict:
    """The rebalance timeout of JoinGroup is max.poll.interval.ms."""
    known = terms.rebalance_timeout_ms
    wanted = known if known is not None else expect.MAX_POLL_INTERVAL_MS
    late = measured.longest > wanted
    return Verdict(wanted, "join_group" if known is not None else "default", "late" if late else "as_expected")


def _idle(measured: Measured, terms: Terms) -> Verdict:
    """Kafka's own limits are as expected; a shorter one is somebody else's."""
    del terms
    idle = measured.longest
    for limit in (expect.CLIENT_IDLE_MS, expect.BROKER_IDLE_MS):
        if limit - expect.SLACK_IDLE_MS <= idle <= limit + expect.IDLE_TOLERANCE_MS:
            return Verdict(limit, "default", "as_expected")
    for limit in expect.MIDDLEBOX_IDLE_MS:
        if limit - expect.SLACK_IDLE_MS <= idle <= limit + expect.IDLE_TOLERANCE_MS:
            return Verdict(expect.CLIENT_IDLE_MS, "default", "fast")
    if idle > expect.BROKER_IDLE_MS + expect.IDLE_TOLERANCE_MS:
        return Verdict(expect.BROKER_IDLE_MS, "default", "late")
    return Verdict(None, None, "unknown")


def _in_flight(measured: Measured, terms: Terms) -> Verdict:
    del terms
    more = measured.longest > expect.MAX_IN_FLIGHT
    return Verdict(expect.MAX_IN_FLIGHT, "default", "fast" if more else "as_expected")


def _reauthentication(measured: Measured, terms: Terms) -> Verdict:
    """Clients authenticate again after 85 to 95 % of the session's lifetime (KIP-368); after it they are cut off."""
    lifetime = terms.session_lifetime_ms
    if lifetime is None:
        return Verdict(None, None, "unknown")
    fast = measured.p50 * 2 < lifetime
    late = measured.longest >= lifetime
    return Verdict(lifetime, "sasl_authenticate", "late" if late else "fast" if fast else "as_expected")


def _told(measured: Measured, wanted: int, source: str, verdict: str) -> Verdict:
    return Verdict(wanted, source, verdict if measured.n >= MIN_GAPS else "unknown")


_JUDGES = {
    "heartbeat": _heartbeat,
    "fetch": _fetch,
    "commit": _commit,
    "metadata_refresh": _metadata,
    "poll_gap": _poll_gap,
    "idle_before_close": _idle,
    "in_flight": _in_flight,
    "reauthentication": _reauthentication,
}
