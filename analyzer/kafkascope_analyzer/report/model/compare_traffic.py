"""Compares the traffic of two captures of one application: latency by API, errors, versions, rebalances; without
requests between brokers.

Captures may differ in length, so errors and rebalances are compared by their number per minute.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span
from kafkascope_analyzer.report.model.latency import MEANT_TO_WAIT, OF_CLIENTS_SQL
from kafkascope_analyzer.sql.database import Database

NOTABLE_US = 5_000
NOTABLE_SHARE = 10
"""A duration counts as unchanged if it changed by less than 5 ms or by less than a tenth."""
NOTABLE_RATIO = 2
"""A rate counts as unchanged if it changed by less than this factor."""
FEWEST, FEWEST_FOR_P99 = 20, 100
"""Requests of an API that each capture needs for its median, and for its 99th percentile, to be judged."""
SAME, SLOWER, FASTER = "same", "slower", "faster"
NEW, GONE, MORE, FEWER = "new", "gone", "more", "fewer"
_NS_PER_MINUTE = 60_000_000_000
_LATENCY = f"""
select api_name, node_id, grouping(node_id) = 0 as of_a_broker, count(*), quantile_disc(broker_us, 0.5),
    quantile_disc(broker_us, 0.99)
from requests semi join {OF_CLIENTS_SQL} using (conn_id)
where broker_us is not null and api_name not in {MEANT_TO_WAIT}
group by grouping sets ((api_name), (api_name, node_id))
"""
"""Latency by API, and by API and broker, without requests that a broker holds on purpose: for records, or for other
members."""
_ERRORS = f"""
select error_name, api_name, count(*) from errors semi join {OF_CLIENTS_SQL} using (conn_id)
group by error_name, api_name
"""
_VERSIONS = f"""
select distinct r.client_id, coalesce(c.software_name || ' ' || c.software_version, c.software_name, ''), r.api_name,
    r.api_version
from requests r semi join {OF_CLIENTS_SQL} using (conn_id) join connections c using (conn_id)
where r.client_id is not null and r.api_name is not null
"""
_REBALANCES = """
select group_id, count(*), coalesce(max(unread_ms), 0), list_sort(list(distinct trigger) filter (trigger is not null))
from rebalances where group_id is not null group by group_id
"""


@dataclass(frozen=True, slots=True)
class LatencyChange:
    """Latency of the responses to an API's requests: of one broker, or of all where node_id is None."""

    api_name: str
    node_id: int | None
    n_before: int
    n_after: int
    p50_before_us: int
    p50_after_us: int
    p99_before_us: int
    p99_after_us: int
    verdict: str

    @property
    def change_rank(self) -> int:
        """Sort key: the smaller, the more the 99th percentile has changed."""
        return -abs(self.p99_after_us - self.p99_before_us)


@dataclass(frozen=True, slots=True)
class ErrorChange:
    """How often an error code occurred in the responses of an API."""

    error_name: str
    api_name: str
    n_before: int
    n_after: int
    per_minute_before: float
    per_minute_after: float
    verdict: str


@dataclass(frozen=True, slots=True)
class VersionChange:
    """Software or API versions that clients of one name used in only one of the two captures, as texts."""

    client_id: str
    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RebalanceChange:
    """Rebalances of a group, and the longest time that a partition was unread around one."""

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
    """All compared traffic, largest changes first."""

    latency: tuple[LatencyChange, ...]
    latency_by_broker: tuple[LatencyChange, ...]
    errors: tuple[ErrorChange, ...]
    versions: tuple[VersionChange, ...]
    rebalances: tuple[RebalanceChange, ...]


@dataclass(frozen=True, slots=True)
class _Traffic:
    """The rows of one capture that are compared, by their first one or two columns."""

    minutes: float
    latency: dict[tuple[str, int | None], tuple[Any, ...]]
    errors: dict[tuple[str, str], int]
    versions: dict[str, dict[str, set[str]]]
    rebalances: dict[str, tuple[Any, ...]]


def traffic_changes(before: Dataset, after: Dataset) -> TrafficChanges:
    """Compares the two captures. Raises UsageError where a table cannot be read."""
    old, new = _load(before), _load(after)
    latency = [_latency(key, old.latency[key], new.latency[key]) for key in old.latency.keys() & new.latency.keys()]
    latency.sort(key=lambda row: (row.verdict == SAME, row.change_rank, row.api_name, row.node_id or 0))
    errors = [_error(key, old, new) for key in old.errors.keys() | new.errors.keys()]
    errors.sort(
        key=lambda row: (row.verdict == SAME, -abs(row.per_minute_after - row.per_minute_before), row.error_name)
    )
    rebalances = [_rebalance(group, old, new) for group in sorted(old.rebalances.keys() | new.rebalances.keys())]
    rebalances.sort(key=lambda row: (row.verdict == SAME, row.group_id))
    return TrafficChanges(
        latency=tuple(row for row in latency if row.node_id is None),
        latency_by_broker=tuple(row for row in latency if row.node_id is not None),
        errors=tuple(errors),
        versions=tuple(_versions(old, new)),
        rebalances=tuple(rebalances),
    )


def minutes_of(dataset: Dataset) -> float:
    """Returns the length of the capture in minutes."""
    first_ns, last_ns = capture_span(dataset)
    return max(last_ns - first_ns, 1) / _NS_PER_MINUTE


def generic_name(client_id: str) -> str:
    """Returns the client id without a number at its end, which differs from run to run."""
    return re.sub(r"(?<=[-_.])\d+$", "*", client_id)


def _load(dataset: Dataset) -> _Traffic:
    with Database(dataset) as database:
        found = database.query(_LATENCY)[1]
        latency = {(api, node): tuple(figures) for api, node, one, *figures in found if one == (node is not None)}
        errors = {(error, api or ""): n for error, api, n in database.query(_ERRORS)[1]}
        versions: dict[str, dict[str, set[str]]] = {}
        for client_id, software, api, version in database.query(_VERSIONS)[1]:
            used = versions.setdefault(generic_name(client_id), {})
            used.setdefault(api, set()).add(f"v{version}")
            used.setdefault("software", set()).update({software} - {""})
        has_groups = database.has("rebalances")
        groups = {group: tuple(figures) for group, *figures in database.query(_REBALANCES)[1]} if has_groups else {}
    return _Traffic(minutes_of(dataset), latency, errors, versions, groups)


def _latency(key: tuple[str, int | None], old: tuple[Any, ...], new: tuple[Any, ...]) -> LatencyChange:
    n = min(old[0], new[0])
    changes = [new[1] - old[1]] * (n >= FEWEST) + [new[2] - old[2]] * (n >= FEWEST_FOR_P99)
    notable = [
        change
        for change, was in zip(changes, old[1:], strict=False)
        if abs(change) >= NOTABLE_US and abs(change) * NOTABLE_SHARE >= was
    ]
    verdict = SAME if not notable else SLOWER if max(notable, key=abs) > 0 else FASTER
    return LatencyChange(*key, old[0], new[0], old[1], new[1], old[2], new[2], verdict)


def _error(key: tuple[str, str], old: _Traffic, new: _Traffic) -> ErrorChange:
    counts = old.errors.get(key, 0), new.errors.get(key, 0)
    rates = counts[0] / old.minutes, counts[1] / new.minutes
    return ErrorChange(*key, *counts, *rates, rate_verdict(counts, rates))


def _rebalance(group: str, old: _Traffic, new: _Traffic) -> RebalanceChange:
    (n, longest, why), (n_new, longest_new, why_new) = (t.rebalances.get(group, (0, 0, [])) for t in (old, new))
    verdict = rate_verdict((n, n_new), (n / old.minutes, n_new / new.minutes))
    return RebalanceChange(group, n, n_new, longest, longest_new, tuple(why), tuple(why_new), verdict)


def rate_verdict(counts: tuple[int, int], rates: tuple[float, float]) -> str:
    """Judges how often something occurred before and after, by its rate per minute."""
    if not counts[0]:
        return NEW
    if not counts[1]:
        return GONE
    if max(rates) < NOTABLE_RATIO * min(rates):
        return SAME
    return MORE if rates[1] > rates[0] else FEWER


def _versions(old: _Traffic, new: _Traffic) -> Iterator[VersionChange]:
    """Yields what clients of one name used in only one of the captures. An API that one capture lacks is
    not a change."""
    for client in sorted(old.versions.keys() & new.versions.keys()):
        was, now = old.versions[client], new.versions[client]
        for what in sorted(was.keys() & now.keys(), key=lambda name: (name != "software", name)):
            gone, come = was[what] - now[what], now[what] - was[what]
            if gone or come:
                yield VersionChange(client, what, ", ".join(sorted(gone)), ", ".join(sorted(come)))
