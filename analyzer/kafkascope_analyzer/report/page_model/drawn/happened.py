"""The headline, incidents with the clients that stalled, and findings."""

from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.incidents.model import (
    Commands,
    Consequence,
    CourseLine,
    Headline,
    Incident,
    Incidents,
    OwnerAction,
    Wait,
)
from kafkascope_analyzer.report.model.incidents.state_grid import GridHost, GridServer, GridStretch, StateGrid
from kafkascope_analyzer.report.model.moments import Moment
from kafkascope_analyzer.report.model.proofs import Proof
from kafkascope_analyzer.report.page_model.drawn.part import Part
from kafkascope_analyzer.report.page_model.story_lists import PlacedFindings


@dataclass(frozen=True, slots=True)
class PageHeadline(Part):
    """The headline of the report."""

    SOURCE: ClassVar[type] = Headline
    verdict: str
    sentence: str
    details: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageProof(Part):
    """A request, or a connection, that proves a sentence."""

    SOURCE: ClassVar[type] = Proof
    id: str


@dataclass(frozen=True, slots=True)
class PageWait(Part):
    """Stalls of one client for one service: a line of the table of stalled clients. Times are those of the longest."""

    SOURCE: ClassVar[type] = Wait
    who: str
    client_instance_id: str | None
    what: str
    from_ns: int
    to_ns: int | None
    at: str
    of_day: str
    lasted: str
    state: str
    outcome: str
    error_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageConsequence(Part):
    """Consequences of an incident of one kind, counted."""

    SOURCE: ClassVar[type] = Consequence
    kind: str
    text: str
    ids: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageMoment(Part):
    """The time at which a fault began or ended, as far as packets show it."""

    SOURCE: ClassVar[type] = Moment
    by_ns: int
    at: str
    of_day: str
    is_between: bool


@dataclass(frozen=True, slots=True)
class PageOwnerAction(Part):
    """The action that one owner should take."""

    SOURCE: ClassVar[type] = OwnerAction
    owner: str
    text: str


@dataclass(frozen=True, slots=True)
class PageCourseLine(Part):
    """A step in the course of a failure, with the packet that shows it."""

    SOURCE: ClassVar[type] = CourseLine
    step: str
    at: str
    of_day: str
    packet_no: int | None
    what: str


@dataclass(frozen=True, slots=True)
class PageIncident(Part):
    """A failure, with the clients that stalled because of it and its consequences."""

    SOURCE: ClassVar[type] = Incident
    incident_id: str
    severity: str
    title: str
    sentence: str
    actions: tuple[PageOwnerAction, ...]
    how_known: str
    start_ns: int
    end_ns: int | None
    over: bool
    over_text: str
    when: str
    fault_start: PageMoment
    fault_end: PageMoment | None
    served_after: str
    who: str
    n_waits: int
    waits: tuple[PageWait, ...]
    course: tuple[PageCourseLine, ...]
    restarts: tuple[str, ...]
    followed: tuple[PageConsequence, ...]
    followed_text: str
    finding_ids: tuple[str, ...]
    evidence: tuple[PageProof, ...]
    packets: str


@dataclass(frozen=True, slots=True)
class PageIncidents(Part):
    """All incidents, worst first, with the stalls that belong to none."""

    SOURCE: ClassVar[type] = Incidents
    n: int
    listed: tuple[PageIncident, ...]
    routine_text: str
    routine: tuple[PageIncident, ...]
    n_unassigned: int
    unassigned: tuple[PageWait, ...]


@dataclass(frozen=True, slots=True)
class PageFinding(Part):
    """The result of a rule about one client, or about several clients for which it is the same."""

    SOURCE: ClassVar[type] = Finding
    finding_id: str
    incident_id: str | None
    rule: str
    severity: str
    sentence: str
    sentences: tuple[str, ...]
    advice: str | None
    subject: str | None
    client_instance_id: str | None
    first_ns: int | None
    last_ns: int | None
    when: str
    conn_ids: tuple[str, ...]
    n_evidence: int
    evidence: tuple[PageProof, ...]


@dataclass(frozen=True, slots=True)
class PageFindings(Part):
    """Findings, with indices of those that belong to no incident: `alone` are above severity info, `notes`
    the others."""

    SOURCE: ClassVar[type] = PlacedFindings
    present: bool
    why_not: str | None
    n: int
    listed: tuple[PageFinding, ...]
    title: str
    alone: tuple[int, ...]
    notes_title: str
    notes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PageCommands(Part):
    """The commands that are given once, after the incidents and findings."""

    SOURCE: ClassVar[type] = Commands
    explain: str
    cut: str
    wireshark: str
    likewise: str


@dataclass(frozen=True, slots=True)
class PageGridStretch(Part):
    """A span of time in one state."""

    SOURCE: ClassVar[type] = GridStretch
    state: str
    words: str
    from_ns: int
    to_ns: int | None
    text: str


@dataclass(frozen=True, slots=True)
class PageGridHost(Part):
    """A host that talked to the server."""

    SOURCE: ClassVar[type] = GridHost
    host: str
    kind: str
    stretches: tuple[PageGridStretch, ...]


@dataclass(frozen=True, slots=True)
class PageGridServer(Part):
    """A server address with the hosts that talked to it."""

    SOURCE: ClassVar[type] = GridServer
    label: str
    hosts: tuple[PageGridHost, ...]
    more: str


@dataclass(frozen=True, slots=True)
class PageStateGrid(Part):
    """The grid of brokers and hosts."""

    SOURCE: ClassVar[type] = StateGrid
    servers: tuple[PageGridServer, ...]
    more: str
    states: tuple[tuple[str, str], ...]
    n_failing: int
