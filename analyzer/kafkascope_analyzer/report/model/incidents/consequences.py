"""What followed from each incident: later incidents, recoveries, rebalances, transactions, moves, findings."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.formatting import clock, count, safe, visible
from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.incidents.families import Event, Family, Owners
from kafkascope_analyzer.report.model.incidents.load import Facts, IncidentRow
from kafkascope_analyzer.report.model.incidents.model import Consequence
from kafkascope_analyzer.report.model.recoveries import Recovery
from kafkascope_analyzer.report.model.topology import ClusterChange, topology_model
from kafkascope_analyzer.report.model.transactions import Transaction
from kafkascope_analyzer.report.model.unread_partitions import Rebalance, most_unread_text
from kafkascope_analyzer.report.rows import read

MOST_LISTED = 10


@dataclass(frozen=True, slots=True)
class Following:
    """Something that may have followed from an incident. n: how many things it counts for; sentence: makes its line."""

    kind: str
    id: str
    event: Event
    sentence: Callable[[], str]
    n: int = 1


Found = dict[str, dict[str, list[Following]]]
"""incident_id -> kind of consequence -> what followed, by time."""
_NOUNS = {
    "incidents": ("incident", "incidents"),
    "recoveries": ("recovery from errors", "recoveries from errors"),
    "rebalances": ("rebalance", "rebalances"),
    "transactions": ("transaction that was not committed", "transactions that were not committed"),
    "leaders": ("leader moved", "leaders moved"),
    "coordinators": ("coordinator moved", "coordinators moved"),
    "findings": ("finding", "findings"),
}
"""Kinds of consequence in the order in which they are shown, with their nouns."""


def load_consequences(dataset: Dataset, facts: Facts, families: list[Family]) -> Found:
    """Everything but findings, by incident; each thing belongs to one incident at most."""
    found: Found = defaultdict(lambda: defaultdict(list))
    if not families:
        return found
    for family in families:
        found[family.identity]["incidents"] = [_later(row) for row in family.members if row is not family.root]
    all_of_them = [*_recoveries(dataset, facts), *_rebalances(dataset, facts)]
    all_of_them += [*_transactions(dataset, facts), *_moves(dataset, facts)]
    owners = Owners(families, facts.end_ns)
    for one in sorted(all_of_them, key=lambda one: (one.event.start_ns, one.kind, one.id)):
        owner = owners.owner_of(one.event)
        if owner is not None:
            found[owner.identity][one.kind].append(one)
    return found


def consequences_of(family: Family, found: Found, findings: list[Finding]) -> tuple[Consequence, ...]:
    """What followed from the incident, kind by kind."""
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
    """An incident that followed from another one."""
    begin = row.start_ns or 0
    return Following("incidents", row.incident_id, Event(begin, begin), lambda: visible(row.sentence))


def _finding(finding: Finding) -> Following:
    begin = finding.first_ns or 0
    event = Event(begin, begin)
    return Following("findings", finding.finding_id, event, lambda: visible(f"{finding.rule}: {finding.sentence}"))


def _recoveries(dataset: Dataset, facts: Facts) -> Iterator[Following]:
    for row in read(dataset, Recovery):
        start, end, node = row.start_ns or 0, row.recovered_ns, row.old_node_id
        event = Event(
            start_ns=start,
            end_ns=facts.end_ns if end is None else end,
            clients=frozenset([row.client_instance_id]),
            nodes=frozenset([] if node is None else [node]),
        )
        yield Following("recoveries", row.recovery_id, event, partial(_recovery_text, row, facts))


def _recovery_text(row: Recovery, facts: Facts) -> str:
    who = f"{clock((row.start_ns or 0) - facts.start_ns)} {safe(facts.name(row.client_instance_id))}"
    what = f"{safe(row.first_error_name)} on {safe(row.resource)}"
    return f"{who}: {what}, {row.outcome_text}{row.took_text}"


def _rebalances(dataset: Dataset, facts: Facts) -> Iterator[Following]:
    members: dict[str, set[str]] = defaultdict(set)
    for identity, client in facts.clients.items():
        members[client.group_id or ""].add(identity)
    for row in read(dataset, Rebalance):
        if row.start_ns is None or row.trigger == "first":
            continue
        group = row.group_id or ""
        clients = frozenset(members[group]) if group else frozenset()
        event = Event(row.start_ns, row.end_ns or row.start_ns, clients, frozenset([group]))
        yield Following("rebalances", row.rebalance_id, event, partial(_rebalance_text, row, facts))


def _rebalance_text(row: Rebalance, facts: Facts) -> str:
    because = row.trigger_words
    unread = most_unread_text(row.unread_ms)
    what = f"group {safe(row.group_id)} rebalanced: {because}{f', {unread}' if unread else ''}"
    return f"{clock((row.start_ns or 0) - facts.start_ns)} {what}"


def _transactions(dataset: Dataset, facts: Facts) -> Iterator[Following]:
    """Transactions that were not committed; one belongs to the incident in which it ended."""
    for row in read(dataset, Transaction):
        if row.begin_ns is None or row.transactional_id is None or row.outcome in ("committed", "cut"):
            continue
        ended = row.end_ns or row.begin_ns
        event = Event(ended, ended, clients=frozenset([row.client_instance_id or ""]))
        identity = f"{row.transactional_id}:{row.transaction_no}"
        yield Following("transactions", identity, event, partial(_transaction_text, row, facts))


def _transaction_text(row: Transaction, facts: Facts) -> str:
    identity = safe(f"{row.transactional_id}:{row.transaction_no}")
    return f"{clock((row.begin_ns or 0) - facts.start_ns)} transaction {identity}: {row.outcome}"


def _moves(dataset: Dataset, facts: Facts) -> Iterator[Following]:
    """Leaders and coordinators that moved away from a broker, partition by partition counted."""
    for change in topology_model(dataset).changes or ():
        is_leader = change.kind == "leader"
        if change.from_ is None or not (is_leader or change.kind.endswith("coordinator")):
            continue
        kind = "leaders" if is_leader else "coordinators"
        event = Event(change.ts_ns, change.last_ns, nodes=frozenset([change.from_]))
        n = max(1, len(change.partitions))
        yield Following(kind, "", event, partial(_move_text, change, facts), n)


def _move_text(change: ClusterChange, facts: Facts) -> str:
    return f"{clock(change.ts_ns - facts.start_ns)} {change_text(change)}"


def change_text(change: ClusterChange) -> str:
    """A change of the cluster: `leader of clicks-0, 2 moved from node 2 to node 3`, `node 2 left the broker list`."""
    if change.kind == "broker":
        gone = "left the brokers that Metadata lists" if change.what == "gone" else "is listed by Metadata again"
        return f"node {change.node_id} {gone}"
    parts = "-" + ", ".join(str(n) for n in change.partitions[:MOST_LISTED]) if change.partitions else ""
    to = "no node" if change.to is None else f"node {change.to}"
    before = "no node" if change.from_ is None else f"node {change.from_}"
    return f"{change.kind} of {safe(change.subject)}{parts} moved from {before} to {to}"
