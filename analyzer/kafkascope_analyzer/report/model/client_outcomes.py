"""The outcome of each client, decided once for every form of the report: from its starts, recoveries, stalls, the
incidents that concern it, and whether anything answered it.

The worst decides: CLIENT_OUTCOMES in their order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.report.formatting import start_text
from kafkascope_analyzer.report.model.incidents.model import INFO
from kafkascope_analyzer.report.model.incidents.waits import longest_stalls
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.recoveries.table import RECOVERIES, RecoveryOutcome
from kafkascope_spark.stories.stalls.table import Stall
from kafkascope_spark.stories.startups.table import NOT_READY
from kafkascope_spark.stories.tables import CLIENTS, STARTUPS

NEVER_SERVED, GAVE_UP, STILL_OPEN, RECOVERED, WELL, UNKNOWN = CLIENT_OUTCOMES = (
    "never_served",
    "gave_up",
    "still_open",
    "recovered",
    "well",
    "unknown",
)
"""never_served: nothing answered it; gave_up: it gave something up, got a fatal error, or ended before it was served;
still_open: it was still waiting when the capture ended; recovered: it was served again after every problem; well: it
was served and had no visible problem; unknown: the capture does not show whether it was served."""
UNSUCCESSFUL = frozenset({"gave_up", "fatal", "wrong_reaction", "client_ended"})
"""Outcomes of recoveries after which the client did not get what it wanted."""
_REFUSED = ("refused", "unanswered")
"""Values of close_kind of connections that were never established."""


@dataclass(frozen=True, slots=True)
class ClientOutcome:
    """The outcome of a client. longest_stall: its longest stall in words; reasons: further reasons for the outcome, in
    words."""

    outcome: str = UNKNOWN
    longest_stall: str | None = None
    reasons: tuple[str, ...] = ()

    def trouble(self, recoveries: str) -> str:
        """Returns the client's problems in words. recoveries: how many recoveries and how they ended; empty without
        any."""
        parts = [part for part in (self.longest_stall, recoveries, *self.reasons) if part]
        return "; ".join(parts) or ("not known" if self.outcome == UNKNOWN else "none")


@dataclass(frozen=True, slots=True)
class _Client(Row):
    TABLE: ClassVar[Table] = CLIENTS
    client_instance_id: str
    conn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Connection(Row):
    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    protocol: str | None
    close_kind: str | None
    n_requests: int | None
    n_responses: int | None
    server_segments: int | None


@dataclass(frozen=True, slots=True)
class _Start(Row):
    TABLE: ClassVar[Table] = STARTUPS
    client_instance_id: str
    start_ns: int | None
    outcome: str | None
    claimed: bool

    @property
    def shows_service(self) -> bool:
        """Whether the client was answered. For an encrypted client nothing more is known."""
        return self.claimed and self.outcome in ("ready", "done")


@dataclass(frozen=True, slots=True)
class _Recovery(Row):
    TABLE: ClassVar[Table] = RECOVERIES
    client_instance_id: str
    outcome: RecoveryOutcome


@dataclass(slots=True)
class _ClientHistory:
    """The connections, starts, recoveries, stalls and incidents of one client."""

    connections: list[_Connection] = field(default_factory=list)
    starts: list[_Start] = field(default_factory=list)
    recoveries: list[_Recovery] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    incidents: list[IncidentRow] = field(default_factory=list)


def client_outcomes(dataset: Dataset) -> dict[str, ClientOutcome]:
    """Returns client_instance_id -> outcome. Raises UsageError where a table cannot be read."""
    conns = {row.conn_id: row for row in read(dataset, _Connection)}
    histories = {
        row.client_instance_id: _ClientHistory([conns[c] for c in row.conn_ids if c in conns])
        for row in read(dataset, _Client)
    }
    stalls = [stall for stall in read(dataset, Stall) if stall.client_instance_id]
    for identity, of_client in grouped(stalls, lambda stall: stall.client_instance_id or "").items():
        histories.setdefault(identity, _ClientHistory()).stalls = list(of_client)
    for start in read(dataset, _Start):
        histories.setdefault(start.client_instance_id, _ClientHistory()).starts.append(start)
    for recovery in read(dataset, _Recovery):
        histories.setdefault(recovery.client_instance_id, _ClientHistory()).recoveries.append(recovery)
    for incident in read(dataset, IncidentRow):
        for identity in incident.clients if incident.severity != INFO else ():
            histories.setdefault(identity, _ClientHistory()).incidents.append(incident)
    longest = longest_stalls(stalls)
    return {identity: _outcome(of_client, longest.get(identity)) for identity, of_client in histories.items()}


def _outcome(history: _ClientHistory, longest: str | None) -> ClientOutcome:
    is_encrypted = any(start.shows_service for start in history.starts)
    served = is_encrypted or _was_served(history.connections)
    last = max(history.starts, key=lambda start: start.start_ns or 0, default=None)
    bad_starts = [start_text(start.outcome) for start in history.starts if start.outcome in NOT_READY]
    has_no_start = last is not None and last.outcome in NOT_READY
    unsuccessful = [row.outcome for row in history.recoveries if row.outcome in UNSUCCESSFUL]
    reasons = _counted(f"start {text}" for text in bad_starts)
    if served is False:
        return ClientOutcome(NEVER_SERVED, longest, ("never served", *reasons))
    if has_no_start or unsuccessful or any(stall.served is False for stall in history.stalls):
        return ClientOutcome(GAVE_UP, longest, reasons)
    if _is_waiting(history):
        return ClientOutcome(STILL_OPEN, longest, reasons or _of_incidents(history, longest))
    if bad_starts or history.recoveries or history.stalls or history.incidents:
        return ClientOutcome(RECOVERED, longest, reasons or _of_incidents(history, longest))
    if is_encrypted:
        return ClientOutcome(WELL, longest, ("none visible (encrypted)",))
    return ClientOutcome(WELL if served else UNKNOWN, longest)


def _was_served(connections: Iterable[_Connection]) -> bool | None:
    """Whether a request was answered; None where the capture does not show it, because of another protocol or because
    one direction is missing."""
    known = list(connections)
    if any(conn.n_responses for conn in known):
        return True
    unseen = (
        conn.close_kind not in _REFUSED and (not conn.server_segments or conn.protocol not in ("kafka", "empty"))
        for conn in known
    )
    return None if not known or any(unseen) else False


def _is_waiting(history: _ClientHistory) -> bool:
    """Whether the client was still not served when the capture ended: according to its own stalls and recoveries;
    without any, according to the incidents that concern it."""
    if history.stalls or history.recoveries:
        waits = any(stall.to_ns is None for stall in history.stalls)
        return waits or any(row.outcome == "still_open" for row in history.recoveries)
    return any(incident.end_ns is None for incident in history.incidents)


def _of_incidents(history: _ClientHistory, longest: str | None) -> tuple[str, ...]:
    """Returns the incidents in words; empty where the client has a stall or recoveries, which say more."""
    if longest or history.recoveries or not history.incidents:
        return ()
    return (f"affected by {len(history.incidents):,} incident{'' if len(history.incidents) == 1 else 's'}",)


def _counted(texts: Iterable[str]) -> tuple[str, ...]:
    """Returns each distinct text with the number of its occurrences."""
    counts: dict[str, int] = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    return tuple(f"{n:,} times: {text}" if n > 1 else text for text, n in counts.items())


def outcome_of(outcomes: Mapping[str, ClientOutcome], client_instance_id: str) -> ClientOutcome:
    """Returns the client's outcome; unknown where the dataset has none."""
    return outcomes.get(client_instance_id, ClientOutcome())
