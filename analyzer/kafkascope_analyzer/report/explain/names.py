"""Names that can be explained without an id: client ids, groups, topics, brokers (a node id, `node 3`, or an address)
and rules.

A name that several kinds share is explained as each of them; `group:orders` (or client:, topic:, node:, rule:) asks for
one.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.restriction import Restriction
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS, PARTITIONS
from kafkascope_analyzer.report.commands import cut_command, wireshark_command
from kafkascope_analyzer.report.explain.client import explain_client
from kafkascope_analyzer.report.explain.identities import CLIENT, Identity
from kafkascope_analyzer.report.explain.model import Explanation
from kafkascope_analyzer.report.formatting import count, safe, visible
from kafkascope_analyzer.report.model.chronology import chronology
from kafkascope_analyzer.report.model.client_names import NamedClient
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.tables import CLIENTS, FINDINGS, REBALANCES, STALLS

GROUP, TOPIC, NODE, RULE = "group", "topic", "node", "rule"
KINDS = (CLIENT, GROUP, TOPIC, NODE, RULE)
MOST_SHOWN = 40
"""Most lines of the chronology, or findings of a rule, that are shown."""
_NODE = re.compile(r"(?:node[ -]?)?([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class _Server(Row):
    TABLE: ClassVar[Table] = CONNECTIONS
    node_id: int | None
    server_ip: str | None
    server_port: int | None


@dataclass(frozen=True, slots=True)
class _StallOfTopic(Row):
    TABLE: ClassVar[Table] = STALLS
    stall_id: str


@dataclass(frozen=True, slots=True)
class _FindingOfRule(Row):
    TABLE: ClassVar[Table] = FINDINGS
    finding_id: str
    severity: str | None
    sentence: str | None


@dataclass(frozen=True, slots=True)
class Named:
    """The names of a dataset by kind. rules: name of each rule -> its title."""

    client_ids: frozenset[str]
    groups: frozenset[str]
    topics: frozenset[str]
    brokers: Mapping[str, int]
    rules: Mapping[str, str]

    def all(self) -> list[str]:
        """All names, to suggest the nearest ones for a name that is unknown."""
        return sorted({*self.client_ids, *self.groups, *self.topics, *self.brokers, *self.rules})

    def has(self, kind: str, name: str) -> bool:
        """Whether something of the kind has the name."""
        known = {CLIENT: self.client_ids, GROUP: self.groups, TOPIC: self.topics, NODE: self.brokers, RULE: self.rules}
        return name in known[kind]


def names_of(dataset: Dataset, rules: Mapping[str, str]) -> Named:
    """Loads the names in the dataset. rules: name of each rule -> its title."""
    brokers: dict[str, int] = {}
    for row in read(dataset, _Server):
        if row.node_id is not None:
            brokers[str(row.node_id)] = brokers[f"{row.server_ip}:{row.server_port}"] = row.node_id
    groups = _distinct(dataset, CLIENTS, "group_id") | _distinct(dataset, REBALANCES, "group_id")
    topics = _distinct(dataset, PARTITIONS, "topic") | _distinct(dataset, STALLS, "topic")
    client_ids = _distinct(dataset, CLIENTS, "client_id")
    return Named(client_ids, groups, topics, brokers, rules)


def _distinct(dataset: Dataset, table: Table, column: str) -> frozenset[str]:
    found: set[str] = set()
    for batch in scan(dataset, table, [column]):
        texts = batch.column(column)
        decoded = texts.dictionary_decode() if pa.types.is_dictionary(texts.type) else texts
        found.update(name for name in pc.unique(decoded).to_pylist() if name)
    return frozenset(found)


def explain_name(dataset: Dataset, name: str, named: Named) -> Explanation | None:
    """Explains what the dataset has about a name; None where nothing has that name."""
    kind, colon, rest = name.partition(":")
    only, wanted = ((kind,), rest) if colon and kind in KINDS else (KINDS, name)
    node = _NODE.fullmatch(wanted)
    kinds = [one for one in only if named.has(one, node[1] if one == NODE and node else wanted)]
    found = [_EXPLAINERS[one](dataset, node[1] if one == NODE and node else wanted, named) for one in kinds]
    if len(found) < 2:
        return found[0] if found else None
    sentences = [f"{safe(wanted)} is the name of several: {', '.join(kinds)}."]
    sentences += [sentence for one in found for sentence in one.sentences]
    return Explanation(" and ".join(kinds), wanted, sentences, found[0].cut, found[0].wireshark)


def _client(dataset: Dataset, name: str, named: Named) -> Explanation:
    ids = [row.client_instance_id for row in read(dataset, NamedClient, one_of("client_id", [name]))]
    if len(ids) == 1:
        return explain_client(dataset, Identity(CLIENT, ids[0]))
    shown = ", ".join(sorted(ids)[:MOST_SHOWN]) + (", ..." if len(ids) > MOST_SHOWN else "")
    sentences = [f"{count(len(ids), 'client')} have the client id {safe(name)}: {shown}."]
    sentences += _happened(dataset, clients=tuple(ids))
    return _explained(CLIENT, name, sentences, "client", [name])


def _group(dataset: Dataset, name: str, named: Named) -> Explanation:
    members = [row.client_id for row in read(dataset, NamedClient, one_of("group_id", [name]))]
    some = ", ".join(safe(one) for one in sorted({one for one in members if one})[:MOST_SHOWN])
    sentences = [f"Group {safe(name)}: {count(len(members), 'client')}{some and f' ({some})'}."]
    sentences += _happened(dataset, groups=(name,))
    return _explained(GROUP, name, sentences, "group", [name])


def _topic(dataset: Dataset, name: str, named: Named) -> Explanation:
    columns = ["partition", "direction", "n_records", "error_code", "api_key"]
    partitions: set[int] = set()
    n_named = n_errors = 0
    for batch in scan(dataset, PARTITIONS, columns, one_of("topic", [name])):
        partitions.update(pc.unique(batch.column("partition")).to_pylist())
        n_named += batch.num_rows
        n_errors += pc.sum(pc.fill_null(pc.not_equal(batch.column("error_code"), 0), False)).as_py() or 0
    sentences = [
        f"Topic {safe(name)}: {count(len(partitions), 'partition')} in the capture, which requests and responses name "
        f"{n_named:,} times, {n_errors:,} of them with an error."
    ]
    stalls = [row.stall_id for row in read(dataset, _StallOfTopic, one_of("topic", [name]))]
    if stalls:
        listed = ", ".join(stalls[:MOST_SHOWN]) + (", ..." if len(stalls) > MOST_SHOWN else "")
        sentences.append(f"{count(len(stalls), 'stall')} waited for it: {listed}.")
    return _explained(TOPIC, name, sentences, "topic", [name])


def _broker(dataset: Dataset, name: str, named: Named) -> Explanation:
    node_id = named.brokers[name]
    places = sorted(place for place, one in named.brokers.items() if one == node_id and ":" in place)
    sentences = [f"Node {node_id}: {', '.join(places)}."]
    sentences += _happened(dataset, nodes=(node_id,))
    return _explained(NODE, f"node {node_id}", sentences, "connection", places)


def _rule(dataset: Dataset, name: str, named: Named) -> Explanation:
    found = list(read(dataset, _FindingOfRule, one_of("rule", [name])))
    sentences = [f"Rule {name}: {named.rules[name]}. {count(len(found), 'finding')} of it in this capture."]
    sentences += [f"{row.severity}: {visible(row.sentence)} ({row.finding_id})" for row in found[:MOST_SHOWN]]
    sentences.append(f"kafkascope rules {name} says what it looks at and what to change.")
    return _explained(RULE, name, sentences, "finding", [row.finding_id for row in found[:MOST_SHOWN]])


def _happened(dataset: Dataset, **names: Any) -> Iterator[str]:
    """Yields the lines of the chronology that concern the names, by time. names: fields of Restriction with their
    values."""
    entries = chronology(dataset.concerning(replace(dataset.restriction or Restriction(), **names)))
    if not entries:
        yield "Nothing happened to it but requests that were served."
    for entry in entries[:MOST_SHOWN]:
        yield f"{entry.at} {entry.text}{f' ({entry.id})' if entry.id else ''}"
    if len(entries) > MOST_SHOWN:
        yield f"… and {len(entries) - MOST_SHOWN:,} more (kafkascope timeline)."


def _explained(kind: str, name: str, sentences: list[str], option: str, identities: list[str]) -> Explanation:
    """Builds the explanation, with the commands that show its packets."""
    if not identities:
        return Explanation(kind, name, sentences, "", "")
    return Explanation(kind, name, sentences, cut_command(option, identities, kind), wireshark_command(kind))


_EXPLAINERS: dict[str, Callable[[Dataset, str, Named], Explanation]] = {
    CLIENT: _client,
    GROUP: _group,
    TOPIC: _topic,
    NODE: _broker,
    RULE: _rule,
}
