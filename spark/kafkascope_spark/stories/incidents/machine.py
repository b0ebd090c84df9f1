"""`Incidents`: makes incidents, with everything that belongs to them, from stalls, broker states, recoveries and
rebalances."""

from collections.abc import Callable, Collection, Iterator
from functools import cache

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_analyzer.dataset.stall_limit import DEFAULT_STALL_MS
from kafkascope_spark.stories.incidents.attribution.consequences import Consequences
from kafkascope_spark.stories.incidents.attribution.families import with_families
from kafkascope_spark.stories.incidents.attribution.hidden_leaders import without_hidden
from kafkascope_spark.stories.incidents.course.sightings import NO_PACKETS, Packets
from kafkascope_spark.stories.incidents.detection import Detection, may_be_by_choice
from kafkascope_spark.stories.incidents.detectors import Detectors
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed, serving_addresses
from kafkascope_spark.stories.incidents.observations import Found, Observations
from kafkascope_spark.stories.incidents.packets.leadership import Leadership
from kafkascope_spark.stories.incidents.rows.incident_rows import incident_id, incident_row
from kafkascope_spark.stories.incidents.table import IncidentRow

INCIDENT = "incident"
"""The kind of failed parts: a single incident."""


class Incidents:
    """Collects rows of stalls and failures, and makes the incidents from them. start_ns: start of the capture;
    failed_parts: collects detectors and incidents that raise an error, so that the others still run; leadership_of:
    returns the leaders of some topic-partitions over time; packets: answers questions about single requests; stall_ms:
    shortest wait that counts as a stall."""

    def __init__(
        self,
        start_ns: int,
        failed_parts: FailedParts | None = None,
        leadership_of: Callable[[Collection[str]], Leadership] = lambda _: Leadership(),
        packets: Packets = NO_PACKETS,
        stall_ms: int = DEFAULT_STALL_MS,
    ) -> None:
        self._start_ns = start_ns
        self._stall_ms = stall_ms
        self._rows = Observations()
        self._run = Detectors(FailedParts() if failed_parts is None else failed_parts)
        self._detection = Detection(self._rows, self._run, leadership_of, packets, start_ns, stall_ms)

    def take(self, row: Found) -> None:
        """Takes a row. Clients must come last: only those that stalled, failed or left are kept."""
        self._rows.take(row)

    def finish(self) -> Iterator[StoryRow]:
        """Yields broker states, stalls, recoveries, rebalances, starts and transactions with their incidents, then the
        incidents."""
        self._run.do("hidden leaders", self._leave_hidden_out)
        incidents = self._with_rows(self._detection.failures())
        incident_of = {s.stall_id: row.incident_id for failure, row in incidents.items() for s in failure.stalls}
        yield from self._rows.states
        for stall in self._rows.stalls:
            if stall.stall_id in incident_of or not (self._run.is_complete or may_be_by_choice(stall)):
                stall.incident_id = incident_of.get(stall.stall_id)
                yield stall
        yield from self._with_incidents({failure: row.incident_id for failure, row in incidents.items()})
        yield from incidents.values()

    def _leave_hidden_out(self) -> None:
        left = without_hidden(self._rows.stalls, self._rows.states, lambda: self._detection.leadership, self._stall_ms)
        self._rows.stalls = list(left)

    def _with_rows(self, failures: list[Failure]) -> dict[Failure, IncidentRow]:
        """Returns the row of each failure; failures whose row raises an error are left out."""
        serving = serving_addresses(self._rows.states)
        identity = cache(incident_id)
        rows: dict[Failure, IncidentRow] = {}
        for failure in failures:
            with self._run.failed_parts.part(INCIDENT, f"{failure.kind.name} {failure.subject}") as part:
                observed = Observed(failure, self._rows.clients, serving)
                rows[failure] = incident_row(failure, observed, identity, self._start_ns)
            self._run.is_complete &= not part.has_failed
        return with_families(rows)

    def _with_incidents(self, ids: dict[Failure, str]) -> Iterator[StoryRow]:
        """Yields recoveries, rebalances, starts and transactions with their incidents; without incidents if that raises
        an error. ids: incident_id of each failure."""
        given = (self._rows.recoveries, self._rows.rebalances, self._rows.starts, self._rows.transactions)

        def rows(known: dict[Failure, str]) -> list[StoryRow]:
            return list(Consequences(known, self._rows.clients).with_incidents(*given))

        made = self._run.failed_parts.value(INCIDENT, "what followed from them", None, lambda: rows(ids))
        yield from rows({}) if made is None else made
