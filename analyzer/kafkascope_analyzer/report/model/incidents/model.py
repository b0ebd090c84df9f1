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
    judged: Annotated[tuple[Judged, ...], "things that count towards the verdict and for --fail-on"]
    sentence: Annotated[str, "what failed"]
    doubt: Annotated[str | None, "why it is unknown whether anything else failed; null where the capture shows enough"]
    details: Annotated[
        tuple[str, ...], "the clients that stalled and for how long, failed starts, findings without an incident"
    ]
    n_clients: Annotated[int, "clients in the capture, without the brokers' own"]
    n_stalled_clients: Annotated[int, "number of them that stalled"]
    n_waiting_clients: Annotated[int, "number of those that were still waiting when the capture ended"]
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
    what: Annotated[str, "service that it waited for, with its topic-partition, group or transactional id"]
    from_ns: Annotated[int, "beginning of the wait"]
    to_ns: Annotated[int | None, "end of the wait; null where it was not over"]
    at: Annotated[str, "beginning of the wait, after the capture's start"]
    of_day: Annotated[str, "the same as time of day (UTC)"]
    waited_ms: Annotated[int, "duration of the wait"]
    lasted: Annotated[str, "the same in words"]
    over: Annotated[bool, "whether all of these stalls were over when the capture ended"]
    state: Annotated[str, "over, still waiting, or that the client gave up or ended"]
    outcome: Annotated[str, "the outcome as a word: the first in the list that one of these stalls had", WAIT_OUTCOMES]
    n_attempts: Annotated[int, "requests that were sent for it meanwhile"]
    error_names: Annotated[tuple[str, ...], "errors in their responses"]
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

    owner: Annotated[str, "the owner: operator of the brokers, operator of the network, owner of clients of a library"]
    text: Annotated[str, "what to do, with the observed values"]
    same_as: Annotated[
        str | None, "title of an incident listed before, whose action for this owner is the same; null for the first"
    ] = None


@dataclass(frozen=True, slots=True)
class CourseLine:
    """A step in the course of a failure, with the packet that shows it."""

    step: Annotated[str, "name of the step, as in table incidents, in words"]
    at: Annotated[str, "time after the capture's start"]
    of_day: Annotated[str, "the same as time of day (UTC)"]
    ts_ns: Annotated[int, "the same"]
    packet_no: Annotated[int | None, "packet that shows it; null where the capture does not show which"]
    what: Annotated[str, "what happened in the step"]


@dataclass(frozen=True, slots=True)
class Incident:
    """A failure, with the clients that stalled because of it and its consequences."""

    incident_id: Annotated[str, "the incident"]
    kind: Annotated[str, "what failed, as in table incidents"]
    severity: Annotated[str, "error, warning or info: the worst of the incident and those that followed from it"]
    node_id: Annotated[int | None, "broker that failed"]
    hosts: Annotated[tuple[str, ...], "hosts that were cut off from the broker; empty where all were"]
    title: Annotated[str, "what failed, in a few words"]
    sentence: Annotated[str, "what failed, from when to when, and how the packets show it"]
    actions: Annotated[tuple[OwnerAction, ...], "what each owner should do, one entry per owner"]
    how_known: Annotated[
        str, "how the capture shows it, how certain the place is, and the clients that were served meanwhile"
    ]
    confidence: Annotated[
        str | None,
        "confirmed, likely or possible: whether the capture excludes all, some or none of the other "
        "places that would look the same; null where messages of brokers or clients show the place, or "
        "nothing does",
    ]
    start_ns: Annotated[int, "time of the failure"]
    end_ns: Annotated[
        int | None,
        "time at which the last stalled client was served again, gave up or ended; null where one was still waiting",
    ]
    over: Annotated[
        bool, "whether the capture shows that it is over, both for the affected clients and for the fault itself"
    ]
    over_text: Annotated[str, "the same in a word: yes; no; not seen (its clients gave up, and nobody tried again)"]
    when: Annotated[str, "beginning, end and duration, in words"]
    fault_start: Annotated[Moment, "beginning of the fault itself, apart from its effect on clients"]
    fault_end: Annotated[Moment | None, "end of the fault itself; null where the capture does not show that"]
    served_after: Annotated[
        str,
        "time from the beginning of the fault until the last client was served again, and how often the "
        "fault occurred, if several times; empty where nobody stalled",
    ]
    who: Annotated[str, "number of clients that stalled, or had to recover, and for how long"]
    n_clients: Annotated[int, "clients that stalled or had to recover"]
    clients: Annotated[tuple[str, ...], "names of the first 20 of them"]
    n_clients_outside: Annotated[int, "affected clients that the restriction of the report leaves out"]
    n_stalls: Annotated[int, "stalls that belong to it or to its consequences"]
    n_waits: Annotated[int, "lines in the table of stalled clients"]
    waits: Annotated[tuple[Wait, ...], "the first 50 lines of stalled clients, those not over first, then the longest"]
    course: Annotated[tuple[CourseLine, ...], "its course in order of time; empty where no other broker took over"]
    restarts: Annotated[tuple[str, ...], "restarts of the broker that cause it, in words: time, duration, release"]
    followed: Annotated[tuple[Consequence, ...], "consequences of the incident"]
    followed_text: Annotated[str, "number of consequences of each kind in one line; empty without any"]
    finding_ids: Annotated[
        tuple[str, ...], "findings that are consequences of it and do not only repeat it: they are in findings.listed"
    ]
    n_evidence: Annotated[int, "requests and connections that prove it"]
    evidence: Annotated[tuple[Proof, ...], "the first 20 of them"]
    packets: Annotated[str, "their packets in words"]
    cut: Annotated[str, "the command that cuts its packets out; OUT.kscope stands for the dataset"]
    wireshark: Annotated[str, "the command that opens the file with these packets in Wireshark"]
    explain: Annotated[str, "the command that explains it; OUT.kscope stands for the dataset"]


@dataclass(frozen=True, slots=True)
class Incidents:
    """All incidents, worst first, with the stalls that belong to none."""

    present: Annotated[bool, "whether the dataset has the tables incidents and stalls"]
    why_not: Annotated[str | None, "why the dataset lacks them, and what to do"]
    stall_ms: Annotated[int, "shortest wait that is a stall (--stall), milliseconds"]
    n: Annotated[int, "incidents above severity info that are not consequences of another"]
    n_not_over: Annotated[int, "number of them that were not over when the capture ended, for some client or as faults"]
    n_not_seen: Annotated[
        int, "number of them whose end is not seen: their clients gave up or ended, and nobody tried again"
    ]
    by_severity: Annotated[dict[str, int], "these and the routine ones by severity"]
    listed: Annotated[tuple[Incident, ...], "incidents above severity info, the most harmful first: at most 100"]
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
    wireshark: Annotated[str, "opens the file with these packets in Wireshark; empty where there is neither"]
    likewise: Annotated[str, "which other ids these commands take; empty where there are none"]
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
