"""Stalls that restarts caused: those of the broker's own incident, those of moves of leaders and coordinators from or
to the broker around that time, and those at the broker during the restart. Each stall counts once.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.topology_facts import Move
from kafkascope_spark.stories.incidents.failures.failure import SECOND
from kafkascope_spark.stories.incidents.kinds import names_of
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS
from kafkascope_spark.stories.restarts.outage import Outage
from kafkascope_spark.stories.stalls.table import Stall

NEAR_NS = 2 * SECOND
"""Longest time between a move and its incident: clients learn of the move from errors."""
_MOVES, _OF_BROKERS = names_of(lambda kind: kind.is_move), names_of(lambda kind: kind.of_broker)


@dataclass(slots=True)
class Family:
    """An incident that followed from no other, with the times and stalls of all incidents that followed from it.
    end_ns: FOREVER if a client still waited."""

    root: IncidentRow
    start_ns: int
    end_ns: int = 0
    stalls: list[Stall] = field(default_factory=list)

    def take(self, incident: IncidentRow, stalls: Sequence[Stall]) -> None:
        """Adds an incident with its stalls."""
        self.start_ns = min(self.start_ns, incident.start_ns)
        ends = [incident.end_ns, *(stall.to_ns for stall in stalls)]
        self.end_ns = max(self.end_ns, *(FOREVER if end is None else end for end in ends))
        self.stalls += stalls


def families_of(
    roots: Mapping[str, IncidentRow], incidents: Sequence[IncidentRow], stalls: Sequence[Stall]
) -> list[Family]:
    """Returns the families of incidents. roots: incident_id -> the first incident in its chain of causes."""
    by_incident: dict[str | None, list[Stall]] = defaultdict(list)
    for stall in stalls:
        by_incident[stall.incident_id].append(stall)
    found: dict[str, Family] = {}
    for incident in incidents:
        root = roots[incident.incident_id]
        family = found.setdefault(root.incident_id, Family(root, root.start_ns))
        family.take(incident, by_incident[incident.incident_id])
    return list(found.values())


def costs(
    outages: Sequence[Outage], families: Sequence[Family], stalls: Sequence[Stall], moves: Sequence[Move]
) -> list[list[Stall]]:
    """Returns the stalls of each restart. moves: moves of leaders and coordinators, by time."""
    own = {family.root.incident_id: family.stalls for family in families}
    found: list[list[Stall]] = [list(own.get(outage.incident_id or "", ())) for outage in outages]
    for family in families:
        number = _mover(family, outages, moves) if family.root.kind in _MOVES else None
        if number is not None:
            found[number] += family.stalls
    taken = {stall.stall_id for of_outage in found for stall in of_outage}
    taken |= {stall.stall_id for family in families if family.root.kind in _OF_BROKERS for stall in family.stalls}
    of_nodes: dict[int | None, list[int]] = defaultdict(list)
    for number, outage in enumerate(outages):
        of_nodes[outage.node_id].append(number)
    for stall in stalls:
        if stall.stall_id in taken or stall.node_id is None:
            continue
        number = next((n for n in of_nodes[stall.node_id] if _waited_in(stall, outages[n])), None)
        if number is not None:
            found[number].append(stall)
    return found


def _mover(family: Family, outages: Sequence[Outage], moves: Sequence[Move]) -> int | None:
    """Returns the index of the restart that caused an incident of a move: the restart of the broker from which leaders
    moved at that time, else of the one to which they moved back. None if there is none."""
    end_ns = family.start_ns if family.end_ns == FOREVER else family.end_ns
    first = bisect_left(moves, family.start_ns - NEAR_NS, key=_at_ns)
    near = moves[first : bisect_right(moves, end_ns + NEAR_NS, key=_at_ns)]
    able = [n for n, outage in enumerate(outages) if outage.node_id is not None and _belongs(family.start_ns, outage)]
    for nodes in ({move.from_node for move in near}, {move.to_node for move in near}):
        found = [n for n in able if outages[n].node_id in nodes]
        if found:
            return found[-1]
    return None


def _at_ns(move: Move) -> int:
    return move.ts_ns


def _belongs(at_ns: int, outage: Outage) -> bool:
    """Whether the restart may have caused a move at this time."""
    return outage.begin_ns - NEAR_NS <= at_ns and (outage.back_ns is None or at_ns <= outage.back_ns + FOLLOWS_NS)


def _waited_in(stall: Stall, outage: Outage) -> bool:
    """Whether the stall began while the broker was shutting down, down or starting."""
    return outage.begin_ns <= stall.from_ns and (outage.back_ns is None or stall.from_ns <= outage.back_ns)
