"""Compares two captures of one application: which starts became slower, in which step, and what else changed.

Clients are matched by what stays the same between runs: client id, kind, group and transactional id (without the number
at the end of a generated client id). Where several have one name, the start with the median total is compared. A step's
time is what it added to the critical path: duration and the wait before it.
"""

from collections import defaultdict
from dataclasses import dataclass

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.compare_stories import (
    WORSE,
    IncidentChange,
    RecoveryChange,
    Side,
    story_changes,
)
from kafkascope_analyzer.report.model.compare_traffic import (
    MORE,
    NEW,
    NOTABLE_SHARE,
    NOTABLE_US,
    SAME,
    ErrorChange,
    LatencyChange,
    RebalanceChange,
    VersionChange,
    generic_name,
    traffic_changes,
)
from kafkascope_analyzer.report.model.starts import ClientStarts, Start, clients_of, starts_of


@dataclass(frozen=True, slots=True, order=True)
class ClientKind:
    """The key by which clients of two captures are matched: what stays the same between runs."""

    client_id: str
    kind: str
    group_id: str
    transactional_id: str


@dataclass(frozen=True, slots=True)
class StepChange:
    """The time that a step added to the total before and after; wait, broker and network: the change of each part."""

    step: str
    before_us: int
    after_us: int
    change_us: int
    wait_us: int
    broker_us: int
    network_us: int


@dataclass(frozen=True, slots=True)
class StartChange:
    """Starts of one kind of client that both captures have, before and after."""

    client_id: str
    kind: str
    group_id: str
    transactional_id: str
    n_before: int
    n_after: int
    outcome_before: str | None
    outcome_after: str | None
    before_us: int | None
    after_us: int | None
    change_us: int | None
    verdict: str
    steps: tuple[StepChange, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two captures: matched starts, slowest change first; clients that only one capture has; failures
    and recoveries; latency, errors, versions, rebalances."""

    before: Side
    after: Side
    matched: tuple[StartChange, ...]
    n_slower: int
    n_faster: int
    only_before: tuple[ClientKind, ...]
    only_after: tuple[ClientKind, ...]
    incidents: tuple[IncidentChange, ...]
    recoveries: tuple[RecoveryChange, ...]
    latency: tuple[LatencyChange, ...]
    latency_by_broker: tuple[LatencyChange, ...]
    errors: tuple[ErrorChange, ...]
    versions: tuple[VersionChange, ...]
    rebalances: tuple[RebalanceChange, ...]
    worse: tuple[str, ...]
    """The verdicts that are worse."""


COMPARED = ("starts", "incidents", "recoveries", "latency", "errors", "rebalances")
_WORSE = ("slower", "broken", NEW, MORE, WORSE)


def n_worse(model: Comparison) -> dict[str, int]:
    """Counts by comparison (COMPARED) how many starts, incidents, recoveries, APIs, error codes and groups are worse in
    the second capture than in the first. Comparisons without any are left out."""
    verdicts = (
        [row.verdict for row in model.matched],
        [row.verdict for row in model.incidents],
        [row.verdict for row in model.recoveries],
        [row.verdict for row in model.latency],
        [row.verdict for row in model.errors],
        [row.verdict for row in model.rebalances],
    )
    counted = {name: sum(verdict in _WORSE for verdict in own) for name, own in zip(COMPARED, verdicts, strict=True)}
    return {name: n for name, n in counted.items() if n}


@dataclass(slots=True)
class _Shares:
    """Microseconds that a step added to the critical path, split by client's wait, broker and network."""

    wait_us: int = 0
    broker_us: int = 0
    network_us: int = 0

    @property
    def total_us(self) -> int:
        """The sum of the parts."""
        return self.wait_us + self.broker_us + self.network_us


def comparison(before: Dataset, after: Dataset) -> Comparison:
    """Returns the comparison. Raises UsageError where a dataset has no stories."""
    old, new = _by_kind(before), _by_kind(after)
    matched = [_matched(kind, old[kind], new[kind]) for kind in sorted(old.keys() & new.keys())]
    matched.sort(key=lambda row: (-(row.change_us or 0), row.client_id, row.kind))
    traffic, stories = traffic_changes(before, after), story_changes(before, after)
    return Comparison(
        before=stories.before,
        after=stories.after,
        matched=tuple(matched),
        n_slower=sum(row.verdict == "slower" for row in matched),
        n_faster=sum(row.verdict == "faster" for row in matched),
        only_before=tuple(sorted(old.keys() - new.keys())),
        only_after=tuple(sorted(new.keys() - old.keys())),
        incidents=stories.incidents,
        recoveries=stories.recoveries,
        latency=traffic.latency,
        latency_by_broker=traffic.latency_by_broker,
        errors=traffic.errors,
        versions=traffic.versions,
        rebalances=traffic.rebalances,
        worse=_WORSE,
    )


def _by_kind(dataset: Dataset) -> dict[ClientKind, list[Start]]:
    """Returns kind of client -> first starts of the clients of that kind."""
    clients = clients_of(dataset)
    starts = starts_of(dataset, [client.client_instance_id for client in clients])
    found: dict[ClientKind, list[Start]] = defaultdict(list)
    for client in clients:
        mine = starts.get(client.client_instance_id, [])
        firsts = [start for start in mine if start.start_no == 1 and start.outcome != "cut"]
        if firsts:
            found[_kind(client)].append(firsts[0])
    return dict(found)


def _kind(client: ClientStarts) -> ClientKind:
    name = generic_name(client.client_id or "")
    return ClientKind(name, client.kind, client.group_id or "", client.transactional_id or "")


def _matched(kind: ClientKind, old: list[Start], new: list[Start]) -> StartChange:
    a, b = _middle(old), _middle(new)
    change = None if a.total_us is None or b.total_us is None else b.total_us - a.total_us
    return StartChange(
        client_id=kind.client_id,
        kind=kind.kind,
        group_id=kind.group_id,
        transactional_id=kind.transactional_id,
        n_before=len(old),
        n_after=len(new),
        outcome_before=a.outcome,
        outcome_after=b.outcome,
        before_us=a.total_us,
        after_us=b.total_us,
        change_us=change,
        verdict=_verdict(a, b, change),
        steps=_steps(a, b),
    )


def _middle(starts: list[Start]) -> Start:
    """Returns the start of median total. Starts that did not become ready count as the slowest."""
    ordered = sorted(starts, key=lambda s: (s.total_us is None, s.total_us or 0, s.startup_id))
    return ordered[(len(ordered) - 1) // 2]


def _verdict(a: Start, b: Start, change: int | None) -> str:
    if change is None:
        was, is_now = a.outcome == "ready", b.outcome == "ready"
        return SAME if was == is_now else "broken" if was else "recovered"
    if abs(change) < NOTABLE_US or abs(change) * NOTABLE_SHARE < (a.total_us or 0):
        return SAME
    return "slower" if change > 0 else "faster"


def _steps(a: Start, b: Start) -> tuple[StepChange, ...]:
    """Returns the steps by the time that they added to the total, largest change first."""
    old, new = _shares(a), _shares(b)
    changes = []
    for name in old.keys() | new.keys():
        x, y = old.get(name, _Shares()), new.get(name, _Shares())
        waits = y.wait_us - x.wait_us, y.broker_us - x.broker_us, y.network_us - x.network_us
        changes.append(StepChange(name, x.total_us, y.total_us, y.total_us - x.total_us, *waits))
    return tuple(sorted((c for c in changes if c.change_us), key=lambda c: (-abs(c.change_us), c.step)))


def _shares(start: Start) -> dict[str, _Shares]:
    """Returns the time that each step added to the critical path."""
    found: dict[str, _Shares] = defaultdict(_Shares)
    for step in start.steps:
        if step.on_critical_path:
            shares, own = found[step.step], step.broker_us or 0
            shares.wait_us += step.wait_us
            shares.broker_us += own
            shares.network_us += step.duration_us - own
    return dict(found)
