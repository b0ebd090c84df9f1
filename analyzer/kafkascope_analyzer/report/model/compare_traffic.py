"""Two captures of one application: latency by API, errors, versions, rebalances; without what brokers ask each other.

Captures may differ in length, so errors and rebalances are compared by how many there are a minute.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span
from kafkascope_analyzer.sql.database import Database

NOTABLE_US = 5_000
NOTABLE_SHARE = 10
"""A duration that changed by less than 5 ms or a tenth is as before."""
NOTABLE_RATIO = 2
"""A rate that changed by less than this factor is as before."""
FEWEST, FEWEST_FOR_P99 = 20, 100
"""Requests of an API in either capture below which its median, or its 99th percentile, is not judged."""
SAME, SLOWER, FASTER = "same", "slower", "faster"
NEW, GONE, MORE, FEWER = "new", "gone", "more", "fewer"
_NS_PER_MINUTE = 60_000_000_000
_CLIENTS = (
    "(select conn_id from connections where not list_has_any(coalesce(roles, []), ['inter_broker', 'controller']))"
)
_LATENCY = f"""
select api_name, count(*), quantile_disc(broker_us, 0.5), quantile_disc(broker_us, 0.99)
from requests semi join {_CLIENTS} using (conn_id)
where broker_us is not null and api_name not in ('Fetch', 'ShareFetch', 'JoinGroup', 'SyncGroup')
group by api_name
"""
"""Without the requests that are meant to wait: for records, or for other members."""
_ERRORS = f"""
select error_name, api_name, count(*) from errors semi join {_CLIENTS} using (conn_id) group by error_name, api_name
"""
_VERSIONS = f"""
select distinct r.client_id, coalesce(c.software_name || ' ' || c.software_version, c.software_name, ''), r.api_name,
    r.api_version
from requests r semi join {_CLIENTS} using (conn_id) join connections c using (conn_id)
where r.client_id is not null and r.api_name is not null
"""
_REBALANCES = """
select group_id, count(*), coalesce(max(unread_ms), 0), list_sort(list(distinct trigger) filter (trigger is not null))
from rebalances where group_id is not null group by group_id
"""


@dataclass(frozen=True, slots=True)
class LatencyChange:
    """Latency of the responses to an API's requests."""

    api_name: str
    n_before: int
    n_after: int
    p50_before_us: int
    p50_after_us: int
    p99_before_us: int
    p99_after_us: int
    verdict: str


@dataclass(frozen=True, slots=True)
class ErrorChange:
    """How often an error code came in the responses to an API."""

    error_name: str
    api_name: str
    n_before: int
    n_after: int
    per_minute_before: float
    per_minute_after: float
    verdict: str


@dataclass(frozen=True, slots=True)
class VersionChange:
    """What a client id used: its software, or versions of an API; texts are what was used in only one of the two."""

    client_id: str
    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RebalanceChange:
    """Rebalances of a group, and the longest time that nobody read a partition around one."""

    group_id: str
    n_before: int
    n_after: int
    longest_before_ms: int
    longest_after_ms: int
    triggers_before: tuple[str, ...]
    triggers_after: tuple[str, ...]
    verdict: str


@dataclass(frozen=True, slots=True)
class TrafficChanges:
    """Everything that was compared, what changed most first."""

    latency: tuple[LatencyChange, ...]
    errors: tuple[ErrorChange, ...]
    versions: tuple[VersionChange, ...]
    rebalances: tuple[RebalanceChange, ...]


@dataclass(frozen=True, slots=True)
class _Traffic:
    """What was read of one capture. rows: by their first one or two columns."""

    minutes: float
    latency: dict[str, tuple[Any, ...]]
    errors: dict[tuple[str, str], int]
    versions: dict[str, dict[str, set[str]]]
    rebalances: dict[str, tuple[Any, ...]]


def traffic_changes(before: Dataset, after: Dataset) -> TrafficChanges:
    """Compares the two. Raises UsageError where a table cannot be read."""
    old, new = _load(before), _load(after)
    latency = [_latency(api, old.latency[api], new.latency[api]) for api in old.latency.keys() & new.latency.keys()]
    latency.sort(key=lambda row: (row.verdict == SAME, -abs(row.p99_after_us - row.p99_before_us), row.api_name))
    errors = [_error(key, old, new) for key in old.errors.keys() | new.errors.keys()]
    errors.sort(
        key=lambda row: (row.verdict == SAME, -abs(row.per_minute_after - row.per_minute_before), row.error_name)
    )
    rebalances = [_rebalance(group, old, new) for group in sorted(old.rebalances.keys() | new.rebalances.keys())]
    rebalances.sort(key=lambda row: (row.verdict == SAME, row.group_id))
    return TrafficChanges(tuple(latency), tuple(errors), tuple(_versions(old, new)), tuple(rebalances))


def generic_name(client_id: str) -> str:
    """The client id without a number at its end, which differs from run to run."""
    return re.sub(r"(?<=[-_.])\d+$", "*", client_id)


def _load(dataset: Dataset) -> _Traffic:
    first_ns, last_ns = capture_span(dataset)
    with Database(dataset) as database:
        latency = {api: tuple(figures) for api, *figures in database.query(_LATENCY)[1]}
        errors = {(error, api or ""): n for error, api, n in database.query(_ERRORS)[1]}
        versions: dict[str, dict[str, set[str]]] = {}
        for client_id, software, api, version in database.query(_VERSIONS)[1]:
            used = versions.setdefault(generic_name(client_id), {})
            used.setdefault(api, set()).add(f"v{version}")
            used.setdefault("software", set()).update({software} - {""})
        has_groups = database.has("rebalances")
        groups = {group: tuple(figures) for group, *figures in database.query(_REBALANCES)[1]} if has_groups else {}
    return _Traffic(max(last_ns - first_ns, 1) / _NS_PER_MINUTE, latency, errors, versions, groups)


def _latency(api: str, old: tuple[Any, ...], new: tuple[Any, ...]) -> LatencyChange:
    n = min(old[0], new[0])
    changes = [new[1] - old[1]] * (n >= FEWEST) + [new[2] - old[2]] * (n >= FEWEST_FOR_P99)
    notable = [
        change
        for change, was in zip(changes, old[1:], strict=False)
        if abs(change) >= NOTABLE_US and abs(change) * NOTABLE_SHARE >= was
    ]
    verdict = SAME if not notable else SLOWER if max(notable, key=abs) > 0 else FASTER
    return LatencyChange(api, old[0], new[0], old[1], new[1], old[2], new[2], verdict)


def _error(key: tuple[str, str], old: _Traffic, new: _Traffic) -> ErrorChange:
    counts = old.errors.get(key, 0), new.errors.get(key, 0)
    rates = counts[0] / old.minutes, counts[1] / new.minutes
    return ErrorChange(*key, *counts, *rates, _rate_verdict(counts, rates))


def _rebalance(group: str, old: _Traffic, new: _Traffic) -> RebalanceChange:
    (n, longest, why), (n_new, longest_new, why_new) = (t.rebalances.get(group, (0, 0, [])) for t in (old, new))
    verdict = _rate_verdict((n, n_new), (n / old.minutes, n_new / new.minutes))
    return RebalanceChange(group, n, n_new, longest, longest_new, tuple(why), tuple(why_new), verdict)


def _rate_verdict(counts: tuple[int, int], rates: tuple[float, float]) -> str:
    if not counts[0]:
        return NEW
    if not counts[1]:
        return GONE
    if max(rates) < NOTABLE_RATIO * min(rates):
        return SAME
    return MORE if rates[1] > rates[0] else FEWER


def _versions(old: _Traffic, new: _Traffic) -> Iterator[VersionChange]:
    """What clients of one name used in only one of the captures; an API that one of them lacks is no change."""
    for client in sorted(old.versions.keys() & new.versions.keys()):
        was, now = old.versions[client], new.versions[client]
        for what in sorted(was.keys() & now.keys(), key=lambda name: (name != "software", name)):
            gone, come = was[what] - now[what], now[what] - was[what]
            if gone or come:
                yield VersionChange(client, what, ", ".join(sorted(gone)), ", ".join(sorted(come)))
