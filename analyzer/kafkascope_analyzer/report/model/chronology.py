"""The events of a capture by time, one line each: incidents, stalls, broker states, rebalances, moves of leaders and
coordinators, starts and ends of clients.

Words and numbers of incidents, stalls and broker states are those of the report.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.restriction import Restriction
from kafkascope_analyzer.report.formatting import clock, safe, span
from kafkascope_analyzer.report.missing_stories import NO_STORIES
from kafkascope_analyzer.report.model.client_texts import ENDS
from kafkascope_analyzer.report.model.clients import Client
from kafkascope_analyzer.report.model.incidents.broker_lanes import broker_lanes
from kafkascope_analyzer.report.model.incidents.consequences import change_text
from kafkascope_analyzer.report.model.incidents.families import every_incident
from kafkascope_analyzer.report.model.incidents.impact import unended_text
from kafkascope_analyzer.report.model.incidents.load import Facts, load_facts
from kafkascope_analyzer.report.model.incidents.summary import title_of
from kafkascope_analyzer.report.model.incidents.waits import wait_text, who_waited
from kafkascope_analyzer.report.model.starts import Start
from kafkascope_analyzer.report.model.topology import ClusterChange, topology_model
from kafkascope_analyzer.report.model.unread_partitions import Rebalance, member_names, unread_text
from kafkascope_analyzer.report.rows import read
from kafkascope_parsers.errors import UsageError

KINDS = ("incident", "stall", "broker", "rebalance", "move", "start", "client")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the chronology. clients: client_instance_ids; nodes: ids of the nodes that it is about."""

    ts_ns: int
    at: str
    kind: str
    text: str
    id: str | None = None
    severity: str | None = None
    clients: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()


def chronology(dataset: Dataset) -> list[Entry]:
    """Returns the entries by time. For a restricted dataset: the entries of its rows within its time span and, where it
    is restricted to nodes, about one of those nodes. Raises UsageError where there are no stories."""
    facts = load_facts(dataset)
    if not facts.has_stories:
        raise UsageError(f"{dataset}: {NO_STORIES}")
    found = [*_incidents(facts), *_stalls(facts), *_broker_states(dataset, facts), *_rebalances(dataset, facts)]
    found += [*_moves(dataset, facts), *_starts(dataset, facts), *_ends(dataset, facts)]
    kept = [entry for entry in found if _is_wanted(entry, dataset.restriction or Restriction())]
    return sorted(kept, key=lambda entry: (entry.ts_ns, KINDS.index(entry.kind), entry.id or "", entry.text))


def _is_wanted(entry: Entry, wanted: Restriction) -> bool:
    return (
        (not wanted.nodes or not set(wanted.nodes).isdisjoint(entry.nodes))
        and (wanted.from_ns is None or entry.ts_ns >= wanted.from_ns)
        and (wanted.to_ns is None or entry.ts_ns <= wanted.to_ns)
    )


def _incidents(facts: Facts) -> Iterator[Entry]:
    """Yields a line where an incident begins and one where it ends."""
    for family in every_incident(facts):
        row, begin, end = family.root, family.start_ns or facts.start_ns, family.end_ns
        about = Entry(
            ts_ns=begin,
            at=_at(begin, facts),
            kind="incident",
            text="",
            id=row.incident_id,
            severity=family.severity,
            clients=tuple(sorted(family.clients)),
            nodes=tuple(sorted(family.nodes)),
            groups=tuple(sorted({stall.group_id for stall in family.stalls if stall.group_id})),
        )
        title = title_of(row)
        still = f", {unended_text(family)}" if end is None else ""
        yield replace(about, text=f"{title} begins ({family.severity}){still}")
        if end is not None:
            lasted = span((end - begin) // 1000)
            yield replace(about, ts_ns=end, at=_at(end, facts), text=f"{title} is over after {lasted}")


def _stalls(facts: Facts) -> Iterator[Entry]:
    for row in facts.stalls:
        yield Entry(
            row.from_ns,
            _at(row.from_ns, facts),
            "stall",
            f"{safe(who_waited(row, facts))} waits {wait_text(row)}",
            id=row.stall_id,
            clients=(row.client_instance_id,) if row.client_instance_id else (),
            nodes=() if row.node_id is None else (row.node_id,),
            groups=(row.group_id,) if row.group_id else (),
        )


def _broker_states(dataset: Dataset, facts: Facts) -> Iterator[Entry]:
    """Yields the spans of time in which a broker did not serve some host."""
    for lane in broker_lanes(dataset):
        for stretch in lane.failing:
            lasted = span(((stretch.to_ns or facts.end_ns) - stretch.from_ns) // 1000)
            until = "" if stretch.to_ns is not None else ", to the end of the capture"
            text = f"{lane.label} {stretch.text} for {lasted}{until}"
            nodes = () if lane.node_id is None else (lane.node_id,)
            yield Entry(stretch.from_ns, _at(stretch.from_ns, facts), "broker", text, nodes=nodes)


def _rebalances(dataset: Dataset, facts: Facts) -> Iterator[Entry]:
    found = list(read(dataset, Rebalance))
    names = member_names(found)
    for row in found:
        if row.start_ns is None:
            continue
        number = "" if row.generation is None else f", generation {row.generation}"
        took = "" if row.duration_ms is None else f", {span(1000 * row.duration_ms)}"
        members = {member.client_instance_id for member in row.members if member.client_instance_id}
        unread = unread_text(row, names, facts.start_ns)
        yield Entry(
            row.start_ns,
            _at(row.start_ns, facts),
            "rebalance",
            f"group {safe(row.group_id)} rebalances: {row.trigger_words}{number}{took}{unread and f'; {unread}'}",
            id=row.rebalance_id,
            clients=tuple(sorted(members)),
            nodes=() if row.node_id is None else (row.node_id,),
            groups=(row.group_id,) if row.group_id else (),
        )


def _moves(dataset: Dataset, facts: Facts) -> Iterator[Entry]:
    """Yields moves of leaders, coordinators and the controller, and brokers that Metadata stopped or began to list."""
    for change in topology_model(dataset).changes or ():
        if not _concerns(change, dataset.restriction or Restriction()):
            continue
        about = (change.from_, change.to, change.node_id if change.kind == "broker" else None)
        nodes = tuple(sorted({node_id for node_id in about if node_id is not None}))
        groups = (change.subject,) if change.kind == "group coordinator" else ()
        yield Entry(change.ts_ns, _at(change.ts_ns, facts), "move", change_text(change), nodes=nodes, groups=groups)


def _concerns(change: ClusterChange, wanted: Restriction) -> bool:
    """Whether a move is one of the groups and topics. No move belongs to a client. The topology is read whole."""
    of_group = change.kind == "group coordinator" and change.subject in wanted.groups
    of_topic = change.kind == "leader" and change.subject in wanted.topics
    return not wanted.clients and (not wanted.groups or of_group) and (not wanted.topics or of_topic)


def _starts(dataset: Dataset, facts: Facts) -> Iterator[Entry]:
    """Yields starts of clients, without those of the brokers' own clients."""
    for row in read(dataset, Start):
        client = facts.clients.get(row.client_instance_id)
        if row.start_ns is None or facts.is_broker(row.client_instance_id):
            continue
        took = f" after {span(row.total_us)}" if row.total_us is not None else ""
        again = f" (start number {row.start_no})" if row.is_repeated else ""
        name = safe(facts.name(row.client_instance_id))
        yield Entry(
            row.start_ns,
            _at(row.start_ns, facts),
            "start",
            f"{name} starts{again}: {row.outcome_text}{took}{row.failed_words}",
            id=row.startup_id,
            clients=(row.client_instance_id,),
            groups=(client.group_id,) if client and client.group_id else (),
        )


def _ends(dataset: Dataset, facts: Facts) -> Iterator[Entry]:
    """Yields ends of clients, without the brokers' own clients and clients that were still there when the capture
    ended."""
    for row in read(dataset, Client):
        if row.kind == "broker" or row.end_state in (None, "open") or row.last_ns is None:
            continue
        yield Entry(
            row.last_ns,
            _at(row.last_ns, facts),
            "client",
            f"{safe(facts.name(row.client_instance_id))} {ENDS[row.end_state]}",
            id=row.client_instance_id,
            clients=(row.client_instance_id,),
            groups=(row.group_id,) if row.group_id else (),
        )


def _at(ns: int, facts: Facts) -> str:
    return clock(ns - facts.start_ns)
