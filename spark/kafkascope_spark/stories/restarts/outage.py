"""Restarts that incidents show, and restarts that only a changed release of a broker shows.

A broker restarted if its connections ended together and new ones were refused (an incident of a kind that `restarts`),
or if it offers the API versions of another release than before. A clean shutdown begins before that: the controller
moves the broker's leaders away first.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kafkascope_analyzer.dataset.broker_releases import ReleaseSpan, upgrades
from kafkascope_analyzer.dataset.topology_facts import Move
from kafkascope_spark.stories.findings.wording import node
from kafkascope_spark.stories.incidents.failures.failure import SECOND
from kafkascope_spark.stories.incidents.kinds.broker_down import BROKER_DOWN
from kafkascope_spark.stories.incidents.kinds.broker_restarted import BROKER_RESTARTED
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.servers.table import BrokerState

SHUTDOWN_NS = 3 * SECOND
"""Leaders that move away from a broker within this time of each other, and of the end of its connections, show a
controlled shutdown."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A restart without the stalls that it caused. incident_id: the incident that shows it; None if only the release
    does."""

    node_id: int | None
    subject: str
    begin_ns: int
    down_ns: int
    back_ns: int | None
    before: ReleaseSpan | None
    after: ReleaseSpan | None
    incident_id: str | None

    @property
    def order(self) -> tuple[int, str, str]:
        """Sort key of restarts by time."""
        return self.down_ns, self.subject, self.incident_id or ""


class States:
    """States in which brokers were down or refused connections, by broker and time."""

    def __init__(self, states: Iterable[BrokerState]) -> None:
        self._of_broker: dict[int | str, list[BrokerState]] = defaultdict(list)
        for state in sorted((s for s in states if s.state in BROKER_DOWN.states), key=_from_ns):
            self._of_broker[state.server].append(state)
            if state.node_id is not None:
                self._of_broker[state.node_id].append(state)

    def back_ns(self, incident: IncidentRow) -> int | None:
        """Returns when the broker served the first host again, or when its new process first sent something if no host
        sent it a request. The end of the incident is later: it ends when the last waiting client is served."""
        if incident.kind == BROKER_RESTARTED.name:
            return incident.fault_end_ns
        states = self._of_broker[incident.subject if incident.node_id is None else incident.node_id]
        back_ns: int | None = None
        for row in states[bisect_left(states, incident.start_ns, key=_from_ns) :]:
            if back_ns is not None and row.from_ns > back_ns:
                break
            if row.to_ns is not None:
                back_ns = row.to_ns if back_ns is None else min(back_ns, row.to_ns)
        return back_ns


def _from_ns(state: BrokerState) -> int:
    return state.from_ns


def outages(
    incidents: Iterable[IncidentRow], states: Iterable[BrokerState], moves: Sequence[Move], spans: Sequence[ReleaseSpan]
) -> list[Outage]:
    """Returns the restarts by time. incidents: those of brokers that restarted; states: of all brokers; moves: moves of
    leaders and coordinators, by time; spans: releases by node and time."""
    known, of_nodes = States(states), _Nodes(moves, spans)
    found = [_of_incident(incident, known.back_ns(incident), of_nodes) for incident in incidents]
    found += [outage for outage in _of_releases(spans) if not any(_is_same(outage, other) for other in found)]
    return sorted(found, key=lambda outage: outage.order)


class _Nodes:
    """Times at which leaders and coordinators moved away from each node, and the node's releases; both by time."""

    def __init__(self, moves: Iterable[Move], spans: Iterable[ReleaseSpan]) -> None:
        self.away: dict[int | None, list[int]] = defaultdict(list)
        self.spans: dict[int | None, list[ReleaseSpan]] = defaultdict(list)
        for move in moves:
            self.away[move.from_node].append(move.ts_ns)
        for span in spans:
            if span.node_id is not None:
                self.spans[span.node_id].append(span)


def _of_incident(incident: IncidentRow, back_ns: int | None, nodes: _Nodes) -> Outage:
    """Returns the restart that an incident shows. back_ns: when the broker served a host again."""
    node_id, down_ns = incident.node_id, incident.start_ns
    own = nodes.spans[node_id]
    return Outage(
        node_id=node_id,
        subject=incident.subject,
        begin_ns=_begin_ns(down_ns, nodes.away[node_id]),
        down_ns=down_ns,
        back_ns=back_ns,
        before=next((span for span in reversed(own) if span.first_ns <= down_ns), None),
        after=next((span for span in own if back_ns is not None and span.last_ns > down_ns), None),
        incident_id=incident.incident_id,
    )


def _begin_ns(down_ns: int, away: Sequence[int]) -> int:
    """Returns when leaders and coordinators began to move away from a broker before it went down. away: times of moves,
    sorted."""
    begin_ns = down_ns
    for place in range(bisect_left(away, down_ns) - 1, -1, -1):
        if begin_ns - away[place] > SHUTDOWN_NS:
            break
        begin_ns = away[place]
    return begin_ns


def _of_releases(spans: Sequence[ReleaseSpan]) -> Iterator[Outage]:
    """Yields the restarts that a changed release shows."""
    for before, after in upgrades(spans):
        subject = node(after.node_id, after.address)
        yield Outage(after.node_id, subject, before.last_ns, before.last_ns, after.first_ns, before, after, None)


def _is_same(of_release: Outage, of_incident: Outage) -> bool:
    """Whether both are the same restart: the broker was down between its last response with the old release and the
    first with the new one."""
    is_between = of_release.down_ns <= (of_incident.back_ns or of_incident.down_ns)
    is_between &= of_incident.down_ns <= (of_release.back_ns or of_release.down_ns)
    return is_between and of_release.node_id == of_incident.node_id and of_release.node_id is not None
