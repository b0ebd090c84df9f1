"""`kafkascope topology` on a terminal: brokers, then the leaders and coordinators at a time, or the changes."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession
from kafkascope_analyzer.report.formatting import address, clock, count, list_of, ranges, safe
from kafkascope_analyzer.report.model.restarts import ClusterHistory, Upgrades
from kafkascope_analyzer.report.model.topology import (
    ClusterChange,
    Coordinator,
    PartitionLeader,
    ShownBy,
    Topology,
)
from kafkascope_analyzer.report.terminal.layout import grid, heading, line, more
from kafkascope_analyzer.report.terminal.restarts import render_restarts

MOST_ROWS = 60
MOST_ADDRESSES = 6
_JSON = "--format json has all"


def render_topology(model: Topology) -> Iterator[RenderableType]:
    """Yields the parts, in order."""
    start_ns = model.capture.start_ns
    if start_ns is None:
        yield line("no packets")
        return
    yield from _head(model, start_ns)
    yield from _brokers(model, start_ns)
    if isinstance(model, ClusterHistory):
        yield from render_restarts(model.restarts)
    yield from _sessions(model.zookeeper_sessions, start_ns)
    if model.changes is not None:
        yield from _changes(model, start_ns)
        return
    yield from _leaders(model.leaders, start_ns)
    yield from _coordinators(model.coordinators, start_ns)


def render_upgrades(model: Upgrades) -> Iterator[RenderableType]:
    """Yields the restarts alone, with facts about the cluster."""
    if model.sentence:
        yield line(model.sentence)
    yield line(("times below are mm:ss.mmm after the capture's start", "dim"))
    if not model.restarts.n:
        yield line(model.restarts.why_not or "no broker went down, and none came back with another release")
    yield from render_restarts(model.restarts)


def _head(model: Topology, start_ns: int) -> Iterator[RenderableType]:
    ids = list_of([safe(name) for name in model.cluster_ids], 2)
    yield line(("cluster " + ids if ids else "cluster id unknown", "bold"))
    if model.at_ns is None:
        yield line(f"from {model.capture.start} to the end; --at TIME shows leaders and coordinators of a time")
    else:
        yield line(f"at {model.at}, {clock(model.at_ns - start_ns)} after the start")
    yield line(("times below are mm:ss.mmm after the capture's start", "dim"))
    if model.sentence:
        yield line(model.sentence)
    found = model.controller
    if found is not None:
        named = "named controller by Metadata" + ("" if model.has_zookeeper else " (in KRaft: any broker)")
        who = named if found.by == "Metadata" else f"active controller (by the {found.by.removeprefix('its ')})"
        epoch = f", epoch {found.epoch}" if found.epoch is not None else ""
        yield line(f"node {found.node_id} is {who}{epoch} since {clock(found.since_ns - start_ns)}")


def _brokers(model: Topology, start_ns: int) -> Iterator[RenderableType]:
    yield heading("Brokers")
    if not model.brokers:
        yield line("none is known by its node id")
    else:
        table = grid(
            ("node", "rn"), ("advertised as", ""), ("rack", ""), ("conns", "rn"), ("seen at", ""), ("listed since", "")
        )
        for broker in model.brokers[:MOST_ROWS]:
            names = [name for name in broker.addresses if name not in broker.advertised]
            same = "the same" if broker.addresses and not names else list_of([safe(name) for name in names], 2)
            since = "never" if broker.since_ns is None else clock(broker.since_ns - start_ns)
            table.add_row(
                str(broker.node_id),
                Text(list_of([safe(name) for name in broker.advertised], 2)),
                Text(safe(broker.rack or "")),
                f"{broker.n_connections:,}",
                Text(same),
                since if broker.listed is not False else f"{since}, gone",
            )
        yield table
        yield from more(len(model.brokers) - MOST_ROWS, "broker", _JSON)
    for place in model.open_addresses[:MOST_ADDRESSES]:
        n = count(place.n_connections, "connection")
        yield line(f"{safe(place.address)} ({n}) has no node id: {safe(place.why)}")
    yield from more(len(model.open_addresses) - MOST_ADDRESSES, "address", _JSON)


def _sessions(sessions: Sequence[ZooKeeperSession], start_ns: int) -> Iterator[RenderableType]:
    if not sessions:
        return
    yield heading("ZooKeeper sessions")
    table = grid(("broker", "n"), ("server", "n"), ("session", "n"), ("timeout", "rn"), ("from", "rn"), ("end", ""))
    for row in sessions[:MOST_ROWS]:
        node = safe(row.client_ip) if row.node_id is None else f"node {row.node_id}"
        table.add_row(
            Text(node),
            Text(safe(address(row.server_ip, row.server_port) or "")),
            Text(row.session or "opened before"),
            "" if row.timeout_ms is None else f"{row.timeout_ms / 1000:g} s",
            clock(row.first_ns - start_ns),
            _session_end(row, start_ns),
        )
    yield table
    yield from more(len(sessions) - MOST_ROWS, "session", _JSON)


def _session_end(row: ZooKeeperSession, start_ns: int) -> str:
    if row.ended_ns is None:
        return "open"
    ended = clock(row.ended_ns - start_ns)
    if row.is_closed:
        return f"closed {ended}"
    if row.expired_ns is None:
        return f"lost, connection ended {ended}"
    return f"expired {clock(row.expired_ns - start_ns)} at the earliest, connection ended {ended}"


def _changes(model: Topology, start_ns: int) -> Iterator[RenderableType]:
    yield heading("What moved")
    if not model.changes:
        leaders, coordinators = len(model.leaders), len(model.coordinators)
        yield line(f"nothing: {count(leaders, 'partition leader')} and {count(coordinators, 'coordinator')} stayed put")
        return
    table = grid(("when", "rn"), ("what", ""), ("from", "rn"), ("to", "rn"), ("epoch", ""), ("shown by", ""))
    for change in model.changes[:MOST_ROWS]:
        table.add_row(
            clock(change.ts_ns - start_ns),
            Text(_subject(change)),
            "" if change.from_ is None else str(change.from_),
            "" if change.to is None else str(change.to),
            ranges(change.epochs),
            Text(_shown_by(change)),
        )
    yield table
    yield from more(len(model.changes) - MOST_ROWS, "change", _JSON)


def _subject(change: ClusterChange) -> str:
    name = safe(change.subject)
    if change.kind == "broker":
        return f"{name} {'left the list' if change.what == 'gone' else 'is listed again'}"
    if change.kind == "controller" and change.subject == "ZooKeeper":
        return "controller"
    return f"{change.kind} {name}" + (f" {ranges(change.partitions)}" if change.kind == "leader" else "")


def _leaders(leaders: Sequence[PartitionLeader], start_ns: int) -> Iterator[RenderableType]:
    yield heading("Leaders")
    if not leaders:
        yield line("no leader is known at this time")
        return
    groups: dict[tuple[str, int | None], list[PartitionLeader]] = {}
    for row in leaders:
        groups.setdefault((row.topic, row.node_id), []).append(row)
    table = grid(("topic", ""), ("partitions", ""), ("leader", "rn"), ("epoch", ""), ("since", "rn"), ("shown by", ""))
    for (topic, node_id), members in list(groups.items())[:MOST_ROWS]:
        last = max(members, key=lambda row: row.since_ns)
        epochs = {row.leader_epoch for row in members if row.leader_epoch is not None}
        table.add_row(
            Text(safe(topic)),
            ranges(row.partition for row in members),
            f"node {node_id}",
            ranges(epochs),
            clock(last.since_ns - start_ns),
            Text(_shown_by(last)),
        )
    yield table
    yield from more(len(groups) - MOST_ROWS, "row", _JSON)


def _coordinators(coordinators: Sequence[Coordinator], start_ns: int) -> Iterator[RenderableType]:
    yield heading("Coordinators")
    if not coordinators:
        yield line("no coordinator is known at this time")
        return
    table = grid(("kind", "n"), ("of", ""), ("node", "rn"), ("since", "rn"), ("shown by", ""))
    for row in coordinators[:MOST_ROWS]:
        node = "unknown" if row.node_id is None else f"node {row.node_id}"
        since = clock(row.since_ns - start_ns)
        table.add_row(safe(row.type), Text(safe(row.key)), node, since, Text(_shown_by(row)))
    yield table
    yield from more(len(coordinators) - MOST_ROWS, "coordinator", _JSON)


def _shown_by(row: ShownBy) -> str:
    """Returns the request that shows a fact, and the packet in which its response begins."""
    name = safe(row.api_name or "an answer")
    return f"{name}, packet {row.packet_no}" if row.packet_no is not None else name
