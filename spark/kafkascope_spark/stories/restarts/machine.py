"""`Restarts`: makes the restarts of brokers from incidents, stalls and states of brokers.

Memory: rows of stalls, incidents and states, and the moves of leaders and coordinators.
"""

from collections.abc import Iterator, Sequence

from kafkascope_analyzer.dataset.broker_releases import release_spans
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_analyzer.dataset.topology_facts import moves_in
from kafkascope_spark.stories.incidents.attribution.families import roots_of
from kafkascope_spark.stories.incidents.kinds import names_of
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.restarts.costs import costs, families_of
from kafkascope_spark.stories.restarts.outage import Outage, outages
from kafkascope_spark.stories.restarts.table import BrokerRestart
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.table import Stall

_RESTARTS = names_of(lambda kind: kind.restarts)


class Restarts:
    """Takes the rows of one cluster that the incident stage writes, and makes its restarts. dataset: the cluster's
    tables of ingest, with moves of leaders and the API versions of brokers."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._incidents: list[IncidentRow] = []
        self._stalls: list[Stall] = []
        self._states: list[BrokerState] = []

    def take(self, row: StoryRow) -> None:
        """Takes a row of any table."""
        match row:
            case IncidentRow():
                self._incidents.append(row)
            case Stall():
                self._stalls.append(row)
            case BrokerState():
                self._states.append(row)

    def finish(self) -> Iterator[BrokerRestart]:
        """Yields the restarts by time. Raises UsageError where a table cannot be read."""
        found = families_of(roots_of(self._incidents), self._incidents, self._stalls)
        of_brokers = [family.root for family in found if family.root.kind in _RESTARTS]
        moves = moves_in(self._dataset) if of_brokers else []
        restarts = outages(of_brokers, self._states, moves, release_spans(self._dataset))
        for outage, stalls in zip(restarts, costs(restarts, found, self._stalls, moves), strict=True):
            yield _row(outage, sorted(stalls, key=_longest_first))


def _longest_first(stall: Stall) -> tuple[int, str]:
    return -stall.waited_ms, stall.stall_id


def _row(outage: Outage, stalls: Sequence[Stall]) -> BrokerRestart:
    """Returns the row of a restart. stalls: those that it caused, the longest first."""
    before, after = (span.release if span else None for span in (outage.before, outage.after))
    return BrokerRestart(
        node_id=outage.node_id,
        subject=outage.subject,
        begin_ns=outage.begin_ns,
        down_ns=outage.down_ns,
        back_ns=outage.back_ns,
        release_before=before.text if before else None,
        release_after=after.text if after else None,
        mode_before=before.mode if before else None,
        mode_after=after.mode if after else None,
        incident_id=outage.incident_id,
        other_incidents=tuple(sorted({s.incident_id for s in stalls if s.incident_id} - {outage.incident_id})),
        clients=tuple(sorted({s.client_instance_id for s in stalls if s.client_instance_id})),
        stalls=tuple(stall.stall_id for stall in stalls),
        longest_ms=stalls[0].waited_ms if stalls else None,
        is_over=all(stall.to_ns is not None for stall in stalls),
    )
