"""What a rule is: its texts and its detectors. A detector's query gives facts; Python functions turn them into text."""

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
    """The columns that every detector's query has. conn_ids may be null: the connections of the evidence."""

    __slots__ = ()
    client_instance_id: str | None
    conn_ids: Sequence[str | None] | None
    n: int
    first_ns: int
    last_ns: int
    evidence: Sequence[str] | None


class OptionalFacts:
    """The columns that a query may have; null where it has not.

    severity: the rule's own where it is null. software_names: of several clients. group_id, node_ids,
    client_instance_ids: the group, the brokers and the clients that it is about, by which the incident is found that it
    is a consequence of (causes.py). since_ns: where what it shows began before first_ns. incident_id: where a row of
    incidents is what the query found.
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
    """One row of a detector's query: its columns as attributes, null as None. Those that a rule's own functions alone
    read have no type here. start_ns: start of the capture."""

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
        """When it began: the time since the capture's start, and the time of day."""
        return wording.begin(ns, self._start_ns)

    def at(self, ns: int) -> str:
        """A later time: since the capture's start."""
        return since_start(ns - self._start_ns)

    @property
    def libraries(self) -> tuple[str, ...]:
        """The libraries of the clients that it is about, by software_names where the query has them, else by the
        software name of its client."""
        names = self.software_names or [self._values.get("software_name")]
        return tuple(sorted({library_named(name) for name in names}))


Text = Callable[[Facts], str]
REQUIRED_FACTS = tuple(RequiredFacts.__annotations__)

BROKER_FAILURES = names_of(lambda kind: kind.of_broker or kind.of_path)
MOVES = names_of(lambda kind: kind.is_move)
"""Kinds of incidents that many rules name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Follows:
    """The incidents that a rule's findings may be consequences of."""

    kinds: frozenset[str]
    """Kinds of such incidents (INCIDENT_KINDS)."""
    same: frozenset[str] = frozenset()
    """Those of the kinds that are the fault itself which the rule looks for: they say how severe it was."""
    any_broker: bool = False
    """Whether it may be an incident of any broker at that time: the finding is about leaders that wait for replicas
    elsewhere."""
    half_of_time: bool = False
    """Whether the incident has to last for half of the finding's time: the finding says how long something took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """One way in which a rule recognizes its fault."""

    reads: Mapping[str, Read]
    """Rows without which nothing can be found, by the name under which the query selects from them. A detector is
    left out when one of them has no rows."""
    candidates: Candidates | None = None
    """What the reads must have in common, tested before the query (preconditions.py). A detector is left out where
    that fails; None: it is enough that each read has rows."""
    query: str
    """Spark SQL: one row of facts a finding (REQUIRED_FACTS and the rule's own). It may select from the detector's
    reads, the dataset's tables, and the queries and messages of shared_queries.py."""
    subject: Callable[[Facts], str | None]
    """What the finding is about: an address, a group, a topic, ..."""
    sentence: Text
    """What was found: subject, number, time."""
    advice: Text | None = None
    """What to change, with the values of this finding; None: the rule's own advice."""

    def __post_init__(self) -> None:
        if self.candidates is not None:
            self.candidates.check(self.reads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One diagnosis. Its texts are its page of the documentation."""

    name: str
    title: str
    """What is wrong, in one line."""
    severity: Severity
    """The strongest that it gives."""
    meaning: str
    """What it says about clients, brokers or network, and why it matters."""
    looks_at: str
    """What proves it on the wire, and when it says nothing."""
    advice: str
    """What to change: the settings by name."""
    sources: tuple[str, ...]
    """KIPs, RFCs, classes of Kafka."""
    detectors: Sequence[Detector]
    follows: Follows | None = None
    """The incidents that may explain what it finds; None: its findings stand alone, or name their incident."""
    unless: tuple[str, ...] = ()
    """Rules that explain what this rule sees: it gives no finding about a client of which one of them gives one. They
    have no such rules themselves."""


def fact(name: str) -> Callable[[Facts], Any]:
    """The function that returns one of the facts."""
    return attrgetter(name)
