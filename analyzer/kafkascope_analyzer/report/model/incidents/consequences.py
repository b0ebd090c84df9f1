"""The consequences of each incident: later incidents, failed starts, recoveries, rebalances, transactions, moves,
findings."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stretches import Stretches
from kafkascope_analyzer.report.formatting import clock, count, outcome_text, safe, visible
from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.incidents.families import Family, root_ids
from kafkascope_analyzer.report.model.incidents.load import Facts
from kafkascope_analyzer.report.model.incidents.model import Consequence
from kafkascope_analyzer.report.model.recoveries import took_text
from kafkascope_analyzer.report.model.topology import ClusterChange, topology_model
from kafkascope_analyzer.report.model.transactions import Transaction
from kafkascope_analyzer.report.model.unread_partitions import Rebalance, most_unread_text
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.recoveries.table import Recovery
from kafkascope_spark.stories.startups.table import StartupRow

MOST_LISTED = 10


@dataclass(frozen=True, slots=True)
class Following:
    """A possible consequence of an incident. incident_id: the incident that the row names; n: how many things it counts
    for; sentence: returns its line."""

    kind: str
    id: str
    start_ns: int
    sentence: Callable[[], str]
    incident_id: str | None = None
    n: int = 1


Found = dict[str, dict[str, list[Following]]]
"""incident_id -> kind of consequence -> consequences, by time."""
_NOUNS = {
    "incidents": ("incident", "incidents"),
    "starts": ("failed start", "failed starts"),
    "recoveries": ("recovery from errors", "recoveries from errors"),
    "rebalances": ("rebalance", "rebalances"),
    "transactions": ("transaction that was not committed", "transactions that were not committed"),
    "leaders": ("leader moved", "leaders moved"),
    "coordinators": ("coordinator moved", "coordinators moved"),
    "findings": ("finding", "findings"),
}
"""Kinds of consequence in the order in which they are shown, with their nouns."""


def load_consequences(dataset: Dataset, facts: Facts, families: list[Family]) -> Found:
    """Returns all consequences but findings, by incident; each belongs to one incident at most."""
    found: Found = defaultdict(lambda: defaultdict(list))
    if not families:
        return found
    for family in families:
        found[family.identity]["incidents"] = [_later(row) for row in family.members if row is not family.root]
    roots = root_ids(families)
    rows = [*_starts(facts), *_recoveries(dataset, facts), *_rebalances(dataset, facts), *_transactions(dataset, facts)]
    for one in sorted([*rows, *_moves(dataset, facts, families)], key=lambda one: (one.start_ns, one.kind, one.id)):
        if one.incident_id in roots:
            found[roots[one.incident_id]][one.kind].append(one)
    return found


def consequences_of(family: Family, found: Found, findings: list[Finding]) -> tuple[Consequence, ...]:
    """Returns the consequences of the incident, kind by kind."""
    mine = dict(found.get(family.identity, {}))
    mine["findings"] = [_finding(finding) for finding in findings]
    made = []
    for kind, (one, many) in _NOUNS.items():
        listed = mine.get(kind, [])
        n = sum(part.n for part in listed)
        if n:
            ids = tuple(part.id for part in listed[:MOST_LISTED] if part.id)
            sentences = tuple(part.sentence() for part in listed[:MOST_LISTED])
            made.append(Consequence(kind, n, count(n, one, many), ids, sentences))
    return tuple(made)


def _later(row: IncidentRow) -> Following:
    """Returns an incident that is a consequence of another one."""
    return Following("incidents", row.incident_id, row.start_ns, lambda: visible(row.sentence))


def _finding(finding: Finding) -> Following:
    first_ns = finding.first_ns or 0
    return Following("findings", finding.finding_id, first_ns, lambda: visible(f"{finding.rule}: {finding.sentence}"))


def _starts(facts: Facts) -> Iterator[Following]:
    for row in facts.failed_starts:
        yield Following("starts", row.startup_id, row.start_ns, partial(_start_text, row, facts), row.incident_id)


def _start_text(row: StartupRow, facts: Facts) -> str:
    when, who = clock(row.start_ns - facts.start_ns), safe(facts.name(row.client_instance_id))
    return f"{when} {who} failed{row.failed_words}"


def _recoveries(dataset: Dataset, facts: Facts) -> Iterator[Following]:
    for row in read(dataset, Recovery):
        sentence = partial(_recovery_text, row, facts)
        yield Following("recoveries", row.recovery_id, row.start_ns, sentence, row.incident_id)


def _recovery_text(row: Recovery, facts: Facts) -> str:
    who = f"{clock(row.start_ns - facts.start_ns)} {safe(facts.name(row.client_instance_id))}"
    what = f"{safe(row.first_error_name)} on {safe(row.resource)}"
    return f"{who}: {what}, {outcome_text(row.outcome)}{took_text(row.time_to_recover_ms)}"


def _rebalances(dataset: Dataset, facts: Facts) -> Iterator[Following]:
    for row in read(dataset, Rebalance):
        sentence = partial(_rebalance_text, row, facts)
        yield Following("rebalances", row.rebalance_id, row.start_ns or 0, sentence, row.incident_id)


def _rebalance_text(row: Rebalance, facts: Facts) -> str:
    because = row.trigger_words
    unread = most_unread_text(row.unread_ms)
    what = f"group {safe(row.group_id)} rebalanced: {because}{f', {unread}' if unread else ''}"
    return f"{clock((row.start_ns or 0) - facts.start_ns)} {what}"


def _transactions(dataset: Dataset, facts: Facts) -> Iterator[Following]:
    for row in read(dataset, Transaction):
        identity, sentence = f"{row.transactional_id}:{row.transaction_no}", partial(_transaction_text, row, facts)
        yield Following("transactions", identity, row.begin_ns or 0, sentence, row.incident_id)


def _transaction_text(row: Transaction, facts: Facts) -> str:
    identity = safe(f"{row.transactional_id}:{row.transaction_no}")
    return f"{clock((row.begin_ns or 0) - facts.start_ns)} transaction {identity}: {row.outcome}"


def _moves(dataset: Dataset, facts: Facts, families: list[Family]) -> Iterator[Following]:
    """Yields leaders and coordinators that moved away from a broker, counted by partition. A move belongs to the
    incident of that broker with the longest overlap in time."""
    of_node: dict[int, list[tuple[int, int, Family]]] = defaultdict(list)
    for family in families:
        end_ns = facts.end_ns if family.end_ns is None else family.end_ns
        for node_id in family.nodes:
            of_node[node_id].append((family.start_ns, end_ns, family))
    stretches = {node_id: Stretches(listed) for node_id, listed in of_node.items()}
    for change in topology_model(dataset).changes or ():
        is_leader = change.kind == "leader"
        if change.from_ is None or not (is_leader or change.kind.endswith("coordinator")):
            continue
        kind = "leaders" if is_leader else "coordinators"
        of_broker = stretches.get(change.from_)
        found = of_broker.longest(change.ts_ns, change.last_ns) if of_broker is not None else None
        n = max(1, len(change.partitions))
        identity = found[1].identity if found is not None else None
        yield Following(kind, "", change.ts_ns, partial(_move_text, change, facts), identity, n)


def _move_text(change: ClusterChange, facts: Facts) -> str:
    return f"{clock(change.ts_ns - facts.start_ns)} {change_text(change)}"


def change_text(change: ClusterChange) -> str:
    """Returns a change of the cluster in words: `leader of clicks-0, 2 moved from node 2 to node 3`, `node 2 left the
    broker list`."""
    if change.kind == "broker":
        gone = "left the brokers that Metadata lists" if change.what == "gone" else "is listed by Metadata again"
        return f"node {change.node_id} {gone}"
    parts = "-" + ", ".join(str(n) for n in change.partitions[:MOST_LISTED]) if change.partitions else ""
    to = "no node" if change.to is None else f"node {change.to}"
    before = "no node" if change.from_ is None else f"node {change.from_}"
    return f"{change.kind} of {safe(change.subject)}{parts} moved from {before} to {to}"
