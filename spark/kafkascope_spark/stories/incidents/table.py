"""The table `incidents`: one row per failure, with everything that followed from it."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from kafkascope_analyzer.dataset.row_types import I32, NS, TIME, StoryRow, declares
from kafkascope_spark.stories.findings.table import SEVERITIES
from kafkascope_spark.stories.incidents.actions import Action
from kafkascope_spark.stories.incidents.kind_names import CLIENT_FAULTS, INCIDENT_KINDS

Place = Literal[
    "broker",
    "path",
    "replication",
    "listener",
    "name_server",
    "client_host",
    "client",
    "topic",
    "group",
    "transaction",
    "principal",
    "cluster",
]

Confidence = Literal["confirmed", "likely", "possible"]
Ending = Literal["over", "going_on", "not_seen"]

StepName = Literal["failed", "detected", "failed_over", "learned", "served", "caught_up"]
STEPS: tuple[StepName, ...] = get_args(StepName)
"""The steps in the order in which they follow each other."""


@dataclass(frozen=True, slots=True)
class CourseStep:
    """A step in the course of a failure, as a packet shows it."""

    step: Annotated[
        StepName,
        "failed; detected (a leader epoch, coordinator or in-sync replicas that follow from it are first seen); "
        "failed_over (the new leader or coordinator serves a client); learned (a response tells a client: the first "
        "and the last client); served (an affected client is served again: the first and the last one); caught_up (all "
        "replicas are in sync again)",
    ]
    ts_ns: Annotated[int, NS, "when the packet shows it"]
    packet_no: Annotated[int | None, "the packet; null where the capture does not show which"]
    what: Annotated[str, "who did what, in words"]


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another place that may have failed instead: no served request excludes it."""

    place: Annotated[Place, "the place, as in the column place"]
    what: Annotated[str, "the place, in words"]
    decided_by: Annotated[str, "what would show which place it was, in words"]


@dataclass(frozen=True, slots=True)
class Harm:
    """Records of a topic that a failure harmed. The numbers are lower limits, except n_again, an upper limit."""

    topic: Annotated[str, "topic"]
    n_late: Annotated[int, "records that were accepted half a second or more after they were created"]
    n_failed: Annotated[int, "records that were refused for good, or not accepted before the client gave up or ended"]
    n_again: Annotated[int, "upper limit of the records that a group fetched again, and so may have processed twice"]


@dataclass(frozen=True, slots=True)
class FailedTime:
    """A time in which something failed."""

    start_ns: Annotated[int, NS, "when it failed"]
    end_ns: Annotated[int | None, NS, "when it worked again; null where the capture does not show that"]


@declares(
    "incidents",
    "failure, with what followed from it",
    sorted_by=("start_ns", "incident_id"),
    salted=("incident_id", "root_incident_id", "earlier_stalls"),
)
@dataclass(frozen=True, slots=True)
class IncidentRow(StoryRow):
    """A row of stories/incidents."""

    incident_id: Annotated[str, "the incident: the same for the same capture"]
    kind: Annotated[str, INCIDENT_KINDS, "what failed"]
    client_fault: Annotated[
        str | None,
        tuple(CLIENT_FAULTS),
        "of kind client, what was wrong with it: stalled (its process sent nothing), wrong_protocol (it speaks "
        "another protocol than the listener), auth_failed (it did not authenticate, or was refused), "
        "before_login (it sent requests before it authenticated, as it does on other connections)",
    ]
    place: Annotated[
        Place | None,
        "where it failed: a broker, the path between a broker and hosts, the replication between brokers, a listener "
        "(an address that never served anybody), a name server, a host with clients, a client, a topic, a group, a "
        "transaction, a principal (what one client is allowed); null where nothing in the capture shows it",
    ]
    node_id: Annotated[int | None, I32, "broker that failed; null where none did, or the capture does not show which"]
    hosts: Annotated[
        tuple[str, ...],
        "hosts that could not reach the broker, sorted; empty where no host could; of kind client, the clients' hosts",
    ]
    confidence: Annotated[
        Confidence | None,
        get_args(Confidence),
        "how sure the place is: confirmed (the capture excludes all other places that would look the same), likely "
        "(some of them), possible (none); null where only errors that brokers or clients report show it, or nothing",
    ]
    alternatives: Annotated[tuple[Alternative, ...], "other places that the capture does not exclude"]
    contrast: Annotated[
        str | None,
        "whose requests were answered in the first minute of the failure, in words; null where confidence is null, and "
        "where times of responses show the failure, and not packets",
    ]
    subject: Annotated[str, "what failed, in words: node 2 (10.0.0.2:9092), group orders, ..."]
    start_ns: Annotated[int, TIME, "when it failed"]
    fault_start_after_ns: Annotated[
        int | None,
        TIME,
        "the fault itself, apart from its effect on clients, began after this: the last packet that shows that it had "
        "not; null where the capture does not show that, as for the next three",
    ]
    fault_start_ns: Annotated[int | None, TIME, "it had begun by then: the first packet that shows it"]
    fault_end_after_ns: Annotated[int | None, TIME, "it was not over before: the last packet that shows it"]
    fault_end_ns: Annotated[int | None, TIME, "it was over by then: the first packet that shows that"]
    stretches: Annotated[
        tuple[FailedTime, ...],
        "each time of a place that failed several times, for five seconds or less each and with ten seconds or less in "
        "between; else empty",
    ]
    course: Annotated[
        tuple[CourseStep, ...],
        "what followed from the failure of a broker or leader, in order of time, as far as the capture shows it",
    ]
    end_ns: Annotated[
        int | None,
        TIME,
        "when the last client that stalled was served again, gave up or ended; null: one still waited",
    ]
    ending: Annotated[
        Ending,
        "whether it is over, for the affected clients and as a fault: over (packets show it, or those whom it affected "
        "were served again), going_on (a client still waited or tried when the capture ended, or the fault went on), "
        "not_seen (its clients gave up or ended without being served, and nobody tried again)",
    ]
    root_incident_id: Annotated[str | None, "incident that it followed from; null where it followed from none"]
    severity: Annotated[
        str,
        SEVERITIES,
        "error: a client stalled for 10 s or more or was never served, records failed, or a host waited for 10 s or "
        "more on encrypted connections; warning: a client stalled, or a host waited on them for less; info: neither",
    ]
    family_severity: Annotated[
        str,
        SEVERITIES,
        "the worst severity of the incident's family: of the incident that it followed from, and of all that followed "
        "from that one",
    ]
    sentence: Annotated[str, "what failed, from when to when, and how the packets show it"]
    actions: Annotated[tuple[Action, ...], "what each owner should do, one for each, the first the most important"]
    clients: Annotated[tuple[str, ...], "client instances that stalled or had to recover, sorted"]
    encrypted_hosts: Annotated[
        tuple[str, ...],
        "hosts that waited for it on encrypted connections without known keys, so that it is not known for what they "
        "waited and which of their clients stalled",
    ]
    kept_out_hosts: Annotated[
        tuple[str, ...],
        "hosts that could not connect because of it: they had no address, or their attempts were not answered or not "
        "accepted",
    ]
    n_stalls: Annotated[int, "stalls that belong to it"]
    earlier_stalls: Annotated[
        tuple[str, ...],
        "stalls (stall_id) of earlier incidents that went on while this one did not serve their client, sorted",
    ]
    longest_ms: Annotated[
        int,
        "the longest of its stalls, milliseconds; or the longest wait for the address of a name, for a connection to "
        "be answered or accepted, or on encrypted connections, if that was longer",
    ]
    n_records_late: Annotated[
        int,
        "records of stalled producers that were accepted half a second or more after they were created: a lower limit",
    ]
    n_records_failed: Annotated[
        int,
        "records that were refused for good, or not accepted before the client gave up or ended: a lower limit",
    ]
    n_records_again: Annotated[
        int,
        "records that groups fetched again after a member had fetched them, so that they may have been processed "
        "twice: an upper limit",
    ]
    harm: Annotated[tuple[Harm, ...], "the numbers of harmed records by topic, sorted"]
    how_known: Annotated[str, "evidence in the capture that shows it, in words"]
    evidence: Annotated[tuple[str, ...], "request ids (else conn_ids) that prove it, in order of time; at most 100"]


INCIDENTS = IncidentRow.TABLE
