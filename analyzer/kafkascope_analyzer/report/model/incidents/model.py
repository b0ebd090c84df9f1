"""The typed model of incidents. Every form of the report (terminal, HTML, Markdown, JSON, `explain`, `timeline`) shows
these words and numbers and adds none of its own.

Times are nanoseconds since the epoch (`*_ns`); texts give them as mm:ss.mmm after the capture's start and as time of
day (UTC), and durations with their unit. The description of each field is its description in the schema of report.json.
"""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.moments import Moment
from kafkascope_analyzer.report.model.proofs import Proof

ERROR, WARNING, INFO, NONE, UNKNOWN = "error", "warning", "info", "none", "unknown"
VERDICTS = (ERROR, WARNING, NONE, UNKNOWN)
"""UNKNOWN: nothing failed as far as it is known, but the capture shows too little, or the dataset has no stories, or
stories of an older version."""

TABLE_INCIDENTS = 20
"""Most rows of the table of incidents on the first screen."""
FIRST_INCIDENTS = 5
"""Most incidents that the first screen describes below the table."""
FIRST_WAITS = 5
"""Most lines of an incident's table of stalled clients on the first screen."""
FIRST_STEPS = 8
"""Most steps of an incident's course on the first screen."""
FIRST_FINDINGS = 3
"""Most findings under an incident on the first screen."""
ALONE_FINDINGS = 8
"""Most findings above severity info on the first screen that belong to no incident."""

STILL_OPEN, GAVE_UP, NOT_CAPTURED, SERVED = WAIT_OUTCOMES = ("still_open", "gave_up", "not_captured", "served")
"""How a stall ended: still_open: it was not over when the capture ended; gave_up: the client gave up or ended;
not_captured: a time began that no file covers; served: the client was served."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Things of one kind and severity that count towards the verdict."""

    kind: Annotated[str, "incident, stall (of no incident), failed start, or finding"]
    severity: Annotated[str, "error, warning or info"]
    n: Annotated[int, "how many"]


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline of the report: verdict, sentences, and the things that count towards the verdict."""

    verdict: Annotated[str, "the worst of all incidents, stalls, failed starts and findings"]
    judged: Annotated[tuple[Judged, ...], "what the verdict is the worst of, and what --fail-on counts"]
    sentence: Annotated[str, "what failed"]
    doubt: Annotated[
        str | None, "why it is unknown whether anything else failed; null where the capture shows enough of the clients"
    ]
    details: Annotated[tuple[str, ...], "who stalled and for how long, failed starts, findings that stand alone"]
    n_clients: Annotated[int, "clients in the capture, without the brokers' own"]
    n_stalled_clients: Annotated[int, "of them, those that stalled"]
    n_waiting_clients: Annotated[int, "of those, the ones that were still waiting when the capture ended"]
    n_stalls: Annotated[int, "stalls"]
    longest_ms: Annotated[int | None, "the longest stall"]
    n_failed_starts: Annotated[int, "starts of clients that did not become ready"]


@dataclass(frozen=True, slots=True)
class Wait:
    """Stalls of one client for one service: a line of the table of stalled clients. Times are those of the longest."""

    who: Annotated[str, "client id, else its address or its group"]
    client_instance_id: Annotated[str | None, "client"]
    group_id: Annotated[str | None, "group that waited"]
    kind: Annotated[str, "the service, as in table stalls"]
    what: Annotated[str, "what it waited for: the service with its topic-partition, group or transactional id"]
    from_ns: Annotated[int, "since when it waited"]
    to_ns: Annotated[int | None, "when the wait ended; null where it still waited"]
    at: Annotated[str, "since when it waited, after the capture's start"]
    of_day: Annotated[str, "the same as time of day (UTC)"]
    waited_ms: Annotated[int, "how long it waited"]
    lasted: Annotated[str, "the same in words"]
    over: Annotated[bool, "whether none of these stalls still went on when the capture ended"]
    state: Annotated[str, "over, still waiting, or that the client gave up or ended"]
    outcome: Annotated[str, "the same as a word: the first that one of these stalls had", WAIT_OUTCOMES]
    n_attempts: Annotated[int, "requests that were sent for it meanwhile"]
    error_names: Annotated[tuple[str, ...], "errors that they got"]
    n_stalls: Annotated[int, "stalls of this line"]
    stall_ids: Annotated[tuple[str, ...], "the longest 10 of them, the longest first"]


@dataclass(frozen=True, slots=True)
class Consequence:
    """Consequences of an incident of one kind, counted."""

    kind: Annotated[str, "incidents, recoveries, rebalances, transactions, leaders, coordinators or findings"]
    n: Annotated[int, "how many"]
    text: Annotated[str, "the count with its noun"]
    ids: Annotated[tuple[str, ...], "the first 10 ids, which `kafkascope explain` takes; none for moves"]
    sentences: Annotated[tuple[str, ...], "a sentence for each of the first 10"]


@dataclass(frozen=True, slots=True)
class OwnerAction:
    """The action that one owner should take."""

    owner: Annotated[str, "who: operator of the brokers, operator of the network, owner of clients of a library"]
    text: Annotated[str, "what to do, with the values that were seen"]


@dataclass(frozen=True, slots=True)
class CourseLine:
    """A step in the course of a failure, with the packet that shows it."""

    step: Annotated[str, "the step, as in table incidents, in words"]
    at: Annotated[str, "when, after the capture's start"]
    of_day: Annotated[str, "the same as time of day (UTC)"]
    ts_ns: Annotated[int, "the same"]
    packet_no: Annotated[int | None, "the packet; null where the capture does not show which"]
    what: Annotated[str, "who did what"]


@dataclass(frozen=True, slots=True)
class Incident:
    """A failure, with the clients that stalled because of it and its consequences."""

    incident_id: Annotated[str, "the incident"]
    kind: Annotated[str, "what failed, as in table incidents"]
    severity: Annotated[str, "error, warning or info: the worst of the incident and those that followed from it"]
    node_id: Annotated[int | None, "broker that failed"]
    hosts: Annotated[tuple[str, ...], "hosts that were cut from the broker; empty where everybody was"]
    title: Annotated[str, "what failed, in a few words"]
    sentence: Annotated[str, "what failed, from when to when, and how the packets show it"]
    actions: Annotated[tuple[OwnerAction, ...], "what each owner should do, one for each"]
    how_known: Annotated[str, "what in the capture shows it, how sure the place is, and who was served meanwhile"]
    confidence: Annotated[
        str | None,
        "confirmed, likely or possible: whether the capture excludes all, some or none of the other places that would "
        "look the same; null where it is what brokers or clients say that shows it, or nothing",
    ]
    start_ns: Annotated[int, "when it failed"]
    end_ns: Annotated[
        int | None,
        "when the last of those who stalled was served again, gave up or ended; null where one still waited",
    ]
    over: Annotated[bool, "whether the capture shows that it is over, for whoever it harmed and by itself"]
    over_text: Annotated[str, "the same in a word"]
    when: Annotated[str, "from when to when, and for how long"]
    fault_start: Annotated[Moment, "when the fault itself began, apart from those who suffered from it"]
    fault_end: Annotated[Moment | None, "when it was over; null where the capture does not show that"]
    served_after: Annotated[
        str,
        "how long after the begin of the fault the last client was served again, and how often the fault came where it "
        "came several times; empty where nobody stalled",
    ]
    who: Annotated[str, "how many clients stalled, or had to recover, and for how long"]
    n_clients: Annotated[int, "clients that stalled or had to recover"]
    clients: Annotated[tuple[str, ...], "names of the first 20 of them"]
    n_clients_outside: Annotated[int, "clients that it affected and the restriction of the report leaves out"]
    n_stalls: Annotated[int, "stalls that belong to it or to what followed from it"]
    n_waits: Annotated[int, "lines in the table of who stalled"]
    waits: Annotated[tuple[Wait, ...], "who stalled: the first 50 lines, those not over first, then the longest"]
    course: Annotated[tuple[CourseLine, ...], "its course in order of time; empty where nobody took over"]
    restarts: Annotated[tuple[str, ...], "restarts of the broker that it is, in words: when, how long, which release"]
    followed: Annotated[tuple[Consequence, ...], "what followed from it"]
    followed_text: Annotated[str, "the same, counted in one line; empty where nothing followed"]
    finding_ids: Annotated[
        tuple[str, ...], "findings that are consequences of it and say more than it does: they are in findings.listed"
    ]
    n_evidence: Annotated[int, "requests and connections that prove it"]
    evidence: Annotated[tuple[Proof, ...], "the first 20 of them"]
    packets: Annotated[str, "their packets in words"]
    cut: Annotated[str, "the command that cuts its packets out; OUT.kscope stands for the dataset"]
    wireshark: Annotated[str, "the command that opens the piece in Wireshark"]
    explain: Annotated[str, "the command that explains it; OUT.kscope stands for the dataset"]


@dataclass(frozen=True, slots=True)
class Incidents:
    """All incidents, worst first, with the stalls that belong to none."""

    present: Annotated[bool, "whether the dataset has the tables incidents and stalls"]
    why_not: Annotated[str | None, "why it has not, and what to do"]
    stall_ms: Annotated[int, "waits from this length on are stalls (--stall), milliseconds"]
    n: Annotated[int, "incidents above info that followed from no other"]
    n_not_over: Annotated[
        int, "of them, those that were not over when the capture ended, for somebody or by themselves"
    ]
    by_severity: Annotated[dict[str, int], "these and the routine ones by severity"]
    listed: Annotated[tuple[Incident, ...], "those above info, the most harm first: at most 100"]
    n_routine: Annotated[int, "incidents of severity info: nobody stalled"]
    routine_text: Annotated[str, "the routine incidents in one line; empty where there are none"]
    routine: Annotated[tuple[Incident, ...], "the routine incidents by time: at most 100"]
    n_unassigned: Annotated[int, "lines of stalls that belong to no incident"]
    unassigned: Annotated[tuple[Wait, ...], "stalls that belong to no incident: the first 50 lines"]


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands that are given once, after the incidents and findings. OUT.kscope stands for the dataset."""

    explain: Annotated[str, "explains the worst incident, else the worst finding; empty where there is neither"]
    cut: Annotated[str, "cuts its packets out; empty where there is neither"]
    wireshark: Annotated[str, "opens the piece in Wireshark; empty where there is neither"]
    likewise: Annotated[str, "of what other ids these commands take; empty where there are none"]
    report_all: Annotated[str, "prints everything that the first screen leaves out"]


@dataclass(frozen=True, slots=True)
class Summary:
    """The first part of a report: the headline, the incidents, their findings, and the other findings."""

    headline: Headline
    incidents: Incidents
    commands: Commands
    findings: tuple[Finding, ...]
    no_kafka: str | None
    """Why no Kafka was read, so that no rule had anything to judge; None where some was."""
