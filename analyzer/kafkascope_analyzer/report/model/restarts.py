"""Restarts of brokers in their order: the release before and after each, and how long clients waited because of it.

A broker restarted where its connections ended together and new ones were refused (an incident broker_down), or where it
offers the versions of another release than before. A clean shutdown begins before that: the controller moves the
broker's leaders away first. What a restart cost are the stalls of that incident, those of moves of leaders and
coordinators from or to the broker around that time, and what waited at the broker meanwhile; each stall counts once.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stall_limit import limit_text
from kafkascope_analyzer.dataset.stories.incidents import IncidentRow
from kafkascope_analyzer.dataset.stories.stalls import Stall
from kafkascope_analyzer.dataset.table_rows import one_of
from kafkascope_analyzer.report.formatting import clock, count, list_of, node, safe, span
from kafkascope_analyzer.report.missing_stories import NO_STORIES, OLD_STORIES
from kafkascope_analyzer.report.model.broker_releases import ClusterReleases, ReleaseSpan, cluster_releases
from kafkascope_analyzer.report.model.incidents.broker_lanes import StateRow
from kafkascope_analyzer.report.model.incidents.families import Family, families_of
from kafkascope_analyzer.report.model.incidents.load import Facts, load_facts
from kafkascope_analyzer.report.model.incidents.waits import who_waited
from kafkascope_analyzer.report.model.topology import CaptureTimes, ClusterChange, Topology, topology_model
from kafkascope_analyzer.report.plain import arguments_of
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.incidents.kinds import names_of

SHUTDOWN_NS = 3_000_000_000
"""Leaders that move away from a broker within this time of each other, and of the end of its connections, show that it
was being shut down."""
AFTER_NS = 15_000_000_000
"""Leaders and coordinators that move back within this time after a restart belong to it (incidents: FOLLOWS_NS)."""
NEAR_NS = 2_000_000_000
"""An incident of a move and the move itself are so close: clients learn of it by errors."""
MOST_RESTARTS = 100
MOST_CLIENTS = 20
_DOWN = ("down", "refusing")
_DOWN_KINDS, _MOVES = names_of(lambda kind: kind.restarts), names_of(lambda kind: kind.is_move)


@dataclass(frozen=True, slots=True)
class Restart:
    """One restart of one broker."""

    node_id: Annotated[int | None, "broker; null where it is known by its address alone"]
    broker: Annotated[str, "the broker in words"]
    begin_ns: Annotated[int, "when the first leader or coordinator moved away, else when its connections ended"]
    down_ns: Annotated[
        int, "when its connections ended; where only its release shows the restart, when it was last seen"
    ]
    back_ns: Annotated[int | None, "when it served somebody again; null where the capture does not show that"]
    at: Annotated[str, "down_ns after the capture's start"]
    lasted: Annotated[str, "from down_ns to back_ns in words"]
    release_before: Annotated[str | None, "release of Kafka before, by what it offered (ApiVersions)"]
    release_after: Annotated[str | None, "release of Kafka afterwards"]
    is_upgrade: Annotated[bool, "whether the two are known and differ"]
    release: Annotated[str, "both in words, and whether it came back in KRaft mode or in ZooKeeper mode instead"]
    n_clients: Annotated[int | None, "clients that waited because of it; null without stories"]
    clients: Annotated[tuple[str, ...], "names of the first 20 of them"]
    n_stalls: Annotated[int | None, "stalls because of it; null without stories"]
    longest_ms: Annotated[int | None, "the longest of them; null where there is none"]
    is_over: Annotated[bool, "whether all of them were over when the capture ended"]
    cost: Annotated[str, "who waited and for how long, in words"]
    incident_ids: Annotated[tuple[str, ...], "incidents that these stalls belong to; the broker's own first"]


@dataclass(frozen=True, slots=True)
class Restarts:
    """All restarts by time."""

    present: Annotated[bool, "whether the dataset has the tables that show when brokers went down"]
    why_not: Annotated[str | None, "why it has not, and what to do"]
    n: Annotated[int, "restarts"]
    n_upgrades: Annotated[int, "restarts after which a broker had another release"]
    sentence: Annotated[str, "how many, in which order, and whether releases changed; empty where there is none"]
    listed: Annotated[tuple[Restart, ...], "restarts by time, at most 100"]


@dataclass(frozen=True, slots=True)
class ClusterHistory(Topology):
    """How the cluster changed, restarts of brokers among that."""

    restarts: Restarts


@dataclass(frozen=True, slots=True)
class Upgrades:
    """The restarts alone, with what the cluster is."""

    capture: CaptureTimes
    mode: str | None
    sentence: str | None
    restarts: Restarts


@dataclass(slots=True)
class _Outage:
    """A restart before what it cost is known. family: of the incident of the broker, None where there is none."""

    node_id: int | None
    broker: str
    begin_ns: int
    down_ns: int
    back_ns: int | None
    releases: tuple[ReleaseSpan | None, ReleaseSpan | None]
    family: Family | None

    def belongs(self, at_ns: int) -> bool:
        """Whether a move at this time may be due to the restart."""
        return self.begin_ns - NEAR_NS <= at_ns and (self.back_ns is None or at_ns <= self.back_ns + AFTER_NS)


def load_restarts(dataset: Dataset) -> Restarts:
    """The restarts that a dataset shows. Raises UsageError where a table cannot be read."""
    facts = load_facts(dataset)
    return restarts_of(dataset, facts, families_of(facts))


def load_history(dataset: Dataset) -> ClusterHistory:
    """How the cluster changed. Raises UsageError where a table cannot be read."""
    return ClusterHistory(**arguments_of(topology_model(dataset)), restarts=load_restarts(dataset))


def load_upgrades(dataset: Dataset) -> Upgrades:
    """The restarts alone. Raises UsageError where a table cannot be read."""
    model = load_history(dataset)
    return Upgrades(model.capture, model.mode, model.sentence, model.restarts)


def restarts_of(dataset: Dataset, facts: Facts, families: Iterable[Family]) -> Restarts:
    """The restarts that a capture shows. Raises UsageError where a table cannot be read."""
    families = list(families)
    releases = cluster_releases(dataset)
    down = [family for family in families if family.root.kind in _DOWN_KINDS]
    moved = topology_model(dataset).changes or () if down else ()
    changes = [change for change in moved if change.from_ is not None]
    changes.sort(key=lambda change: -change.last_ns)
    states: dict[int | str, list[StateRow]] = defaultdict(list)
    for state in sorted(read(dataset, StateRow, one_of("state", list(_DOWN))), key=_from_ns) if down else ():
        states[f"{state.server_ip}:{state.server_port}"].append(state)
        if state.node_id is not None:
            states[state.node_id].append(state)
    found = [_of_incident(family, states, changes, releases) for family in down]
    found += [outage for outage in _of_releases(releases) if not any(_is_same(outage, other) for other in found)]
    found.sort(key=lambda outage: (outage.down_ns, outage.broker))
    costs = _costs(found, families, facts, changes)
    made = [_restart(outage, costs[number], facts) for number, outage in enumerate(found)]
    n_upgrades = sum(restart.is_upgrade for restart in made)
    return Restarts(
        present=facts.has_incidents,
        why_not=None if facts.has_incidents else OLD_STORIES if facts.has_stories else NO_STORIES,
        n=len(made),
        n_upgrades=n_upgrades,
        sentence=_sentence(made, n_upgrades),
        listed=tuple(made[:MOST_RESTARTS]),
    )


def _of_incident(
    family: Family, states: dict[int | str, list[StateRow]], changes: list[ClusterChange], releases: ClusterReleases
) -> _Outage:
    """The restart that an incident broker_down shows. states: by node id and by address, in order of time; changes: the
    latest first."""
    incident = family.root
    node_id, down_ns = incident.node_id, incident.start_ns
    back_ns = _back_ns(incident, states[incident.subject if node_id is None else node_id])
    spans = [] if node_id is None else releases.of_node(node_id)
    before = next((s for s in reversed(spans) if s.first_ns <= down_ns), None)
    after = next((s for s in spans if back_ns is not None and s.last_ns > down_ns), None)
    return _Outage(
        node_id=node_id,
        broker=safe(incident.subject),
        begin_ns=_begin_ns(node_id, down_ns, changes),
        down_ns=down_ns,
        back_ns=back_ns,
        releases=(before, after),
        family=family,
    )


def _back_ns(incident: IncidentRow, states: list[StateRow]) -> int | None:
    """When the broker, whose states these are, served the first host again. An incident ends when the last of those who
    waited is served."""
    back_ns: int | None = None
    for row in states[bisect_left(states, incident.start_ns, key=_from_ns) :]:
        if back_ns is not None and row.from_ns > back_ns:
            break
        if row.to_ns is not None:
            back_ns = row.to_ns if back_ns is None else min(back_ns, row.to_ns)
    return back_ns


def _from_ns(state: StateRow) -> int:
    return state.from_ns


def _begin_ns(node_id: int | None, down_ns: int, changes: list[ClusterChange]) -> int:
    """When leaders and coordinators began to move away from a broker that then went down."""
    begin_ns = down_ns
    for change in changes:
        is_away = change.from_ == node_id and change.ts_ns < begin_ns
        if node_id is not None and is_away and begin_ns - change.last_ns <= SHUTDOWN_NS:
            begin_ns = change.ts_ns
    return begin_ns


def _of_releases(releases: ClusterReleases) -> Iterator[_Outage]:
    """Restarts that another release shows."""
    for before, after in releases.upgrades():
        name = node(after.node_id, after.address)
        yield _Outage(after.node_id, name, before.last_ns, before.last_ns, after.first_ns, (before, after), None)


def _is_same(of_release: _Outage, of_incident: _Outage) -> bool:
    """Whether both are one restart: the broker was down between its last offer of the old release and the first of the
    new one."""
    is_between = of_release.down_ns <= (of_incident.back_ns or of_incident.down_ns)
    is_between &= of_incident.down_ns <= (of_release.back_ns or of_release.down_ns)
    return is_between and of_release.node_id == of_incident.node_id and of_release.node_id is not None


def _costs(
    outages: list[_Outage], families: list[Family], facts: Facts, changes: list[ClusterChange]
) -> list[list[Stall]]:
    """The stalls of each restart."""
    costs: list[list[Stall]] = [list(outage.family.stalls) if outage.family else [] for outage in outages]
    for family in families:
        number = _mover(family, outages, changes) if family.root.kind in _MOVES else None
        if number is not None:
            costs[number] += family.stalls
    taken = {stall.stall_id for stalls in costs for stall in stalls}
    of_brokers = [family for family in families if family.root.kind.startswith("broker_")]
    taken |= {stall.stall_id for family in of_brokers for stall in family.stalls}
    of_nodes: dict[int | None, list[int]] = defaultdict(list)
    for number, outage in enumerate(outages):
        of_nodes[outage.node_id].append(number)
    for stall in facts.stalls:
        if stall.stall_id in taken or stall.node_id is None:
            continue
        number = next((n for n in of_nodes[stall.node_id] if _waited_in(stall, outages[n])), None)
        if number is not None:
            costs[number].append(stall)
    return costs


def _mover(family: Family, outages: list[_Outage], changes: list[ClusterChange]) -> int | None:
    """The number of the restart that an incident of a move is due to: of the broker from which leaders moved at that
    time, else of the one to which they moved back."""
    end_ns = family.end_ns or family.start_ns
    near = [c for c in changes if family.start_ns - NEAR_NS <= c.last_ns and c.ts_ns <= end_ns + NEAR_NS]
    able = [n for n, outage in enumerate(outages) if outage.node_id is not None and outage.belongs(family.start_ns)]
    for nodes in ({change.from_ for change in near}, {change.to for change in near}):
        found = [n for n in able if outages[n].node_id in nodes]
        if found:
            return found[-1]
    return None


def _waited_in(stall: Stall, outage: _Outage) -> bool:
    """Whether the stall began while the broker was shut down, down or starting."""
    return outage.begin_ns <= stall.from_ns and (outage.back_ns is None or stall.from_ns <= outage.back_ns)


def _restart(outage: _Outage, stalls: list[Stall], facts: Facts) -> Restart:
    before, after = (None if span is None else span.release.text for span in outage.releases)
    names = list(dict.fromkeys(safe(who_waited(stall, facts)) for stall in sorted(stalls, key=_longest_first)))
    own = [outage.family.identity] if outage.family else []
    incidents = [*own, *sorted({stall.incident_id for stall in stalls if stall.incident_id} - set(own))]
    known = facts.has_incidents
    return Restart(
        node_id=outage.node_id,
        broker=outage.broker,
        begin_ns=outage.begin_ns,
        down_ns=outage.down_ns,
        back_ns=outage.back_ns,
        at=clock(outage.down_ns - facts.start_ns),
        lasted="not back" if outage.back_ns is None else span((outage.back_ns - outage.down_ns) // 1000),
        release_before=before,
        release_after=after,
        is_upgrade=None not in (before, after) and before != after,
        release=_release(before, after) + _other_mode(*outage.releases),
        n_clients=len(names) if known else None,
        clients=tuple(names[:MOST_CLIENTS]),
        n_stalls=len(stalls) if known else None,
        longest_ms=max((stall.waited_ms for stall in stalls), default=None),
        is_over=all(stall.to_ns is not None for stall in stalls),
        cost=_cost(names, stalls, facts) if known else "not known without stories",
        incident_ids=tuple(incidents),
    )


def _longest_first(stall: Stall) -> tuple[int, str]:
    return -stall.waited_ms, stall.stall_id


def _release(before: str | None, after: str | None) -> str:
    if before is None and after is None:
        return "not known"
    if before is None or after is None or before == after:
        return f"Kafka {before or after}"
    return f"Kafka {before} → {after}"


def _other_mode(before: ReleaseSpan | None, after: ReleaseSpan | None) -> str:
    """`, ZooKeeper → KRaft` where a broker came back in the other mode: the last step of a migration (KIP-866)."""
    modes = [None if span is None else span.release.mode for span in (before, after)]
    return "" if None in modes or modes[0] == modes[1] else f", {modes[0]} → {modes[1]}"


def _cost(names: list[str], stalls: list[Stall], facts: Facts) -> str:
    """Who waited: `3 clients, longest 11.9 s (risk.calc-2)`."""
    if not stalls:
        return f"nobody waited {limit_text(facts.stall_ms)} or longer"
    longest = span(1000 * max(stall.waited_ms for stall in stalls))
    several = f"{count(len(names), 'client')}, longest {longest} ({names[0]})"
    text = several if len(names) > 1 else f"{names[0]} for {longest}"
    waiting = any(stall.to_ns is None for stall in stalls)
    return f"{text}, not over when the capture ended" if waiting else text


def _sentence(restarts: list[Restart], n_upgrades: int) -> str:
    if not restarts:
        return ""
    names = [str(r.broker if r.node_id is None else r.node_id) for r in restarts]
    if len(restarts) == 1:
        text = f"Node {names[0]} went down once" if restarts[0].node_id is not None else f"{names[0]} went down once"
    else:
        text = f"Brokers went down {len(restarts):,} times, in the order {list_of(names, 12)}"
    if n_upgrades:
        return f"{text}; {count(n_upgrades, 'restart')} changed the release."
    return f"{text}; no release changed." if any(r.release_after for r in restarts) else f"{text}."
