"""`Rule`: the texts and detectors of a diagnosis. A detector's query returns facts, and Python functions turn them into
text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from kafkascope_analyzer.dataset.capture_time import since_start
from kafkascope_spark.stories.clients.identity.library import library_named
from kafkascope_spark.stories.findings import wording
from kafkascope_spark.stories.findings.candidates import Candidates
from kafkascope_spark.stories.findings.read import Read
from kafkascope_spark.stories.findings.table import Severity
from kafkascope_spark.stories.incidents.kinds import names_of


class RequiredFacts:
    """Columns that every detector's query has. conn_ids may be null; then they are the connections of the evidence."""

    __slots__ = ()
    client_instance_id: str | None
    conn_ids: Sequence[str | None] | None
    n: int
    first_ns: int
    last_ns: int
    evidence: Sequence[str] | None


class OptionalFacts:
    """Columns that a query may have; null if it has not.

    severity: if null, the severity of the rule. software_names: software of several clients. group_id, node_ids,
    client_instance_ids: group, brokers and clients of the finding, by which the incident is found of which it is a
    consequence (causes.py). since_ns: begin of the fault, if that is before first_ns. incident_id: incident from which
    the finding is made.
    """

    __slots__ = ()
    severity: Severity | None
    software_names: Sequence[str | None] | None
    group_id: str | None
    node_ids: Sequence[int | None] | None
    client_instance_ids: Sequence[str] | None
    since_ns: int | None
    incident_id: str | None


class Facts(RequiredFacts, OptionalFacts):
    """One row of a detector's query: its columns as attributes, null as None. Columns that only the rule's own
    functions read have no type here. start_ns: start of the capture."""

    __slots__ = ("_start_ns", "_values")

    def __init__(self, values: Mapping[str, Any], start_ns: int) -> None:
        self._values = values
        self._start_ns = start_ns

    def __getattr__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name in OptionalFacts.__annotations__:
            return None
        raise AttributeError(f"the query has no column {name}")

    def begin(self, ns: int) -> str:
        """Returns a time as the time since the capture's start, and the time of day."""
        return wording.begin(ns, self._start_ns)

    def at(self, ns: int) -> str:
        """Returns a later time as the time since the capture's start."""
        return since_start(ns - self._start_ns)

    @property
    def libraries(self) -> tuple[str, ...]:
        """Libraries of the clients of the finding, by software_names if the query has them, else by the software name
        of its client."""
        names = self.software_names or [self._values.get("software_name")]
        return tuple(sorted({library_named(name) for name in names}))


Text = Callable[[Facts], str]
REQUIRED_FACTS = tuple(RequiredFacts.__annotations__)

BROKER_FAILURES = names_of(lambda kind: kind.of_broker or kind.of_path)
MOVES = names_of(lambda kind: kind.is_move)
"""Kinds of incidents that are moves; many rules follow from them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Follows:
    """The incidents of which a rule's findings may be consequences."""

    kinds: frozenset[str]
    """Kinds of such incidents (INCIDENT_KINDS)."""
    same: frozenset[str] = frozenset()
    """Those of the kinds that are the same fault that the rule looks for; their severity applies."""
    any_broker: bool = False
    """Whether an incident of any broker at that time may be the cause: the finding is about leaders that wait for
    replicas elsewhere."""
    half_of_time: bool = False
    """Whether the incident has to cover half of the finding's time: the finding is about a duration."""
    keeps_advice: bool = True
    """Whether the rule's advice also holds for a consequence of an incident. False if it only says where to look for
    the cause: then the incident is the cause, and has its own actions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """One way in which a rule recognizes its fault."""

    reads: Mapping[str, Read]
    """Rows without which nothing can be found, by their name in the query. A detector is skipped if one of them has no
    rows."""
    candidates: Candidates | None = None
    """Test of the rows of the reads before the query (preconditions.py). A detector is skipped if it fails; None if it
    is enough that each read has rows."""
    query: str
    """Spark SQL that returns one row of facts per finding (RequiredFacts and the rule's own). It may select from the
    detector's reads, the dataset's tables, and the queries and messages of shared_queries.py."""
    subject: Callable[[Facts], str | None]
    """Returns the subject of the finding: an address, a group, a topic, ..."""
    sentence: Text
    """Returns what was found: subject, number, time."""
    advice: Text | None = None
    """Returns what to change, with the values of this finding; None: the rule's own advice."""

    def __post_init__(self) -> None:
        if self.candidates is not None:
            self.candidates.check(self.reads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One diagnosis. Its texts are its page in the documentation."""

    name: str
    title: str
    """What is wrong, in one line."""
    severity: Severity
    """Highest severity of its findings."""
    meaning: str
    """What it means for clients, brokers or the network, and why it matters."""
    looks_at: str
    """What proves it on the wire, and in which cases it reports nothing."""
    advice: str
    """What to change, with the names of settings."""
    sources: tuple[str, ...]
    """KIPs, RFCs, classes of Kafka."""
    detectors: Sequence[Detector]
    follows: Follows | None = None
    """The incidents that may explain its findings; None if no incident does, or the findings name their incident."""
    unless: tuple[str, ...] = ()
    """Rules that explain the findings of this rule: it reports nothing for a client for which one of them has a
    finding. These rules have no such rules themselves."""


def fact(name: str) -> Callable[[Facts], Any]:
    """Returns a function that returns one of the facts."""
    return attrgetter(name)
