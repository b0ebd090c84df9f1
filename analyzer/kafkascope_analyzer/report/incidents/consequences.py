"""What followed from each incident: later incidents, recoveries, rebalances, transactions, moves, findings."""

from collections import defaultdict
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import REBALANCES, RECOVERIES, TRANSACTIONS
from kafkascope_analyzer.report.findings import Finding
from kafkascope_analyzer.report.incidents.families import Event, Family, owner_of
from kafkascope_analyzer.report.incidents.load import Facts
from kafkascope_analyzer.report.incidents.model import Consequence
from kafkascope_analyzer.report.recovery_outcomes import took_text
from kafkascope_analyzer.report.scan import rows
from kafkascope_analyzer.report.topology import topology_model
from kafkascope_analyzer.report.words import clock, count, outcome_text, safe, visible

Row = dict[str, Any]
Found = dict[str, dict[str, list[tuple[str, str, int]]]]
"""incident_id -> kind of consequence -> (id, sentence, how many it counts for)."""

MOST_LISTED = 10
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
_RECOVERY = ["recovery_id", "client_instance_id", "start_ns", "recovered_ns", "old_node_id", "first_error_name"]
_RECOVERY += ["resource", "outcome", "time_to_recover_ms"]
_REBALANCE = ["rebalance_id", "group_id", "start_ns", "end_ns", "trigger", "generation", "stopped_ms"]
_TRANSACTION = ["transactional_id", "transaction_no", "client_instance_id", "begin_ns", "end_ns", "outcome"]


def load_consequences(dataset: Dataset, facts: Facts, families: list[Family]) -> Found:
    """Everything but findings, by incident; each thing belongs to one incident at most."""
    found: Found = defaultdict(lambda: defaultdict(list))
    if not families:
        return found
    for family in families:
        later = [row for row in family.members if row is not family.root]
        found[family.identity]["incidents"] = [(r["incident_id"], visible(r["sentence"] or ""), 1) for r in later]
    for kind, identity, event, sentence, n in _events(dataset, facts):
        owner = owner_of(event, families, facts.end_ns)
        if owner is not None:
            found[owner.identity][kind].append((identity, sentence, n))
    return found


def consequences_of(family: Family, found: Found, findings: list[Finding]) -> tuple[Consequence, ...]:
    """What followed from the incident, kind by kind."""
    mine = dict(found.get(family.identity, {}))
    mine["findings"] = [(f.finding_id, visible(f"{f.rule}: {f.sentence}"), 1) for f in findings]
    made = []
    for kind, (one, many) in _NOUNS.items():
        listed = mine.get(kind, [])
        n = sum(part for _, _, part in listed)
        if n:
            ids = tuple(identity for identity, _, _ in listed[:MOST_LISTED] if identity)
            sentences = tuple(sentence for _, sentence, _ in listed[:MOST_LISTED])
            made.append(Consequence(kind, n, count(n, one, many), ids, sentences))
    return tuple(made)


def _events(dataset: Dataset, facts: Facts) -> list[tuple[str, str, Event, str, int]]:
    """Kind, id, event, sentence and count of everything that may have followed from an incident, by time."""
    found = [*_recoveries(dataset, facts), *_rebalances(dataset, facts)]
    found += [*_transactions(dataset, facts), *_moves(dataset, facts)]
    return sorted(found, key=lambda part: (part[2].start_ns, part[0], part[1]))


def _recoveries(dataset: Dataset, facts: Facts) -> list[tuple[str, str, Event, str, int]]:
    found = []
    for row in rows(dataset, RECOVERIES, _RECOVERY):
        start = row["start_ns"] or 0
        end = row["recovered_ns"]
        node = row["old_node_id"]
        event = Event(
            start_ns=start,
            end_ns=facts.end_ns if end is None else end,
            clients=frozenset([row["client_instance_id"]]),
            nodes=frozenset([] if node is None else [node]),
        )
        took = took_text(row)
        sentence = (
            f"{clock(start - facts.start_ns)} {safe(facts.name(row['client_instance_id']))}: "
            f"{safe(row['first_error_name'])} on {safe(row['resource'])}, {outcome_text(row['outcome'])}{took}"
        )
        found.append(("recoveries", row["recovery_id"], event, sentence, 1))
    return found


def _rebalances(dataset: Dataset, facts: Facts) -> list[tuple[str, str, Event, str, int]]:
    found = []
    for row in rows(dataset, REBALANCES, _REBALANCE):
        if row["start_ns"] is None or row["trigger"] == "first":
            continue
        start, end = row["start_ns"], row["end_ns"]
        members = (i for i, client in facts.clients.items() if client["group_id"] == row["group_id"])
        event = Event(start, end or start, clients=frozenset(members), groups=frozenset([row["group_id"] or ""]))
        because = (row["trigger"] or "unknown").replace("_", " ")
        sentence = f"{clock(start - facts.start_ns)} group {safe(row['group_id'])} rebalanced: {because}"
        found.append(("rebalances", row["rebalance_id"], event, sentence, 1))
    return found


def _transactions(dataset: Dataset, facts: Facts) -> list[tuple[str, str, Event, str, int]]:
    found = []
    for row in rows(dataset, TRANSACTIONS, _TRANSACTION):
        if row["begin_ns"] is None or row["outcome"] in ("committed", "cut"):
            continue
        start = row["begin_ns"]
        ended = row["end_ns"] or start
        event = Event(ended, ended, clients=frozenset([row["client_instance_id"] or ""]))
        identity = f"{row['transactional_id']}:{row['transaction_no']}"
        sentence = f"{clock(start - facts.start_ns)} transaction {safe(identity)}: {row['outcome']}"
        found.append(("transactions", identity, event, sentence, 1))
    return found


def _moves(dataset: Dataset, facts: Facts) -> list[tuple[str, str, Event, str, int]]:
    """Leaders and coordinators that moved away from a broker, partition by partition counted."""
    found = []
    for change in topology_model(dataset)["changes"] or ():
        is_leader = change["kind"] == "leader"
        if change["from"] is None or not (is_leader or change["kind"].endswith("coordinator")):
            continue
        kind = "leaders" if is_leader else "coordinators"
        event = Event(change["ts_ns"], change["last_ns"], nodes=frozenset([change["from"]]))
        sentence = f"{clock(change['ts_ns'] - facts.start_ns)} {change_text(change)}"
        found.append((kind, "", event, sentence, max(1, len(change["partitions"]))))
    return found


def change_text(change: Row) -> str:
    """A change of the cluster: `leader of clicks 0, 2 moved from node 2 to node 3`, `node 2 left the broker list`."""
    if change["kind"] == "broker":
        gone = "left the brokers that Metadata lists" if change["what"] == "gone" else "is listed by Metadata again"
        return f"node {change['node_id']} {gone}"
    parts = " " + ", ".join(str(n) for n in change["partitions"][:MOST_LISTED]) if change["partitions"] else ""
    to = "no node" if change["to"] is None else f"node {change['to']}"
    before = "no node" if change["from"] is None else f"node {change['from']}"
    return f"{change['kind']} of {safe(change['subject'])}{parts} moved from {before} to {to}"
