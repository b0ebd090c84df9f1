"""What `kafkascope topology` shows: the cluster at one time, or how it changed; as one plain dict in a stable order."""

import re
from datetime import UTC, datetime
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, rows
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_analyzer.report import overview
from kafkascope_analyzer.report.broker_releases import ReleaseSpan, cluster_releases
from kafkascope_analyzer.report.listed_brokers import broker_moves
from kafkascope_analyzer.report.plain import plain
from kafkascope_analyzer.report.topology_facts import (
    ACTIVE_CONTROLLER,
    RAFT_LOG,
    TOLD,
    Change,
    Fact,
    Replay,
    facts_in_order,
)
from kafkascope_analyzer.report.words import absolute, address
from kafkascope_analyzer.report.zookeeper_sessions import zookeeper_sessions
from kafkascope_parsers.errors import UsageError

SAME_MOVE_NS = 1_000_000_000
"""Partitions of a topic that go from one node to another within this time of each other are one change."""
_NS_PER_UNIT = {"ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
_OFFSET = re.compile(r"\+(?P<n>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h)?")

Model = dict[str, Any]


def topology_model(dataset: Dataset, at: str | None = None) -> Model:
    """The cluster at a time, or at the end with all changes before it. Raises UsageError where the time is none."""
    capture = overview.capture(dataset)
    at_ns = None if at is None else time_of(at, capture)
    replay, changes = Replay(), []
    for fact in facts_in_order(dataset):
        if at_ns is not None and fact.since_ns > at_ns:
            break
        change = replay.take(fact)
        if change is not None and change.before is not None:
            changes.append(change)
    moves = [move for move in broker_moves(dataset) if at_ns is None or move[0] <= at_ns]
    releases = cluster_releases(dataset)
    model = {
        "capture": {name: capture[name] for name in ("start_ns", "end_ns", "start", "duration_us")},
        "at_ns": at_ns,
        "at": None if at_ns is None else absolute(at_ns),
        "cluster_ids": sorted(key[1] for key in replay.state if key[0] == "cluster"),
        "mode": releases.mode,
        "sentence": releases.sentence,
        "upgrades": [_upgrade(before, after) for before, after in releases.upgrades()],
        "zookeeper_sessions": [plain(session) for session in zookeeper_sessions(dataset)],
        "controller": _controller(replay.state),
        "brokers": _brokers(dataset, replay.state, moves, at_ns),
        "open_addresses": _open_addresses(dataset, at_ns),
        "leaders": [_leader(fact) for fact in _of_kind(replay.state, "leader")],
        "coordinators": [_coordinator(fact) for fact in _of_kind(replay.state, "coordinator")],
        "changes": None if at_ns is not None else _changes(changes, moves),
    }
    _add_packets(dataset, model)
    return model


def _upgrade(before: ReleaseSpan, after: ReleaseSpan) -> Model:
    """A broker that came back with another release: between its last offer of the old one and the first of the new."""
    known = {"node_id": after.node_id, "address": after.address}
    times = {"last_seen_ns": before.last_ns, "first_seen_ns": after.first_ns}
    return {**known, **times, "from": before.release.text, "to": after.release.text}


def time_of(text: str, capture: Model) -> int:
    """Nanoseconds since the epoch of ISO 8601 text (UTC where it names no zone) or of an offset from the capture's
    start such as +12.5s. Raises UsageError.
    """
    start_ns, end_ns = capture["start_ns"], capture["end_ns"]
    if start_ns is None:
        raise UsageError("the capture has no packets, so there is no time to look at")
    match = _OFFSET.fullmatch(text)
    if match is not None:
        at_ns = start_ns + round(float(match["n"]) * _NS_PER_UNIT[match["unit"] or "s"])
    else:
        at_ns = _iso_ns(text)
    if not start_ns <= at_ns <= end_ns:
        raise UsageError(f"--at {text}: the capture has only {absolute(start_ns)} to {absolute(end_ns)}")
    return int(at_ns)


def _iso_ns(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--at {text}: neither ISO 8601 (2026-01-31T12:00:05.5Z) nor an offset (+12.5s)") from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def _of_kind(state: dict[Any, Fact], kind: str) -> list[Fact]:
    found = [fact for key, fact in state.items() if key[0] == kind]
    return sorted(found, key=lambda fact: tuple(str(p) if not isinstance(p, int) else f"{p:010}" for p in fact.key))


def _known(fact: Fact) -> Model:
    """Node, since when, and what said so."""
    told = {"node_id": fact.node_id, "since_ns": fact.since_ns, "source": fact.source}
    return {**told, "request_id": fact.request_id}


def _controller(state: dict[Any, Fact]) -> Model | None:
    """The leader of the raft log; else who sends a controller's requests to brokers (ZooKeeper); else whom Metadata
    names: in KRaft any broker that is up (KIP-590).
    """
    for key, by in ((("leader", *RAFT_LOG), "raft log"), (ACTIVE_CONTROLLER, "its requests to brokers")):
        active = state.get(key)
        if active is not None:
            return {**_known(active), "epoch": active.epoch, "by": by}
    named = state.get(("controller",))
    return None if named is None else {**_known(named), "epoch": None, "by": "Metadata"}


def _leader(fact: Fact) -> Model:
    return {"topic": fact.key[1], "partition": fact.key[2], "leader_epoch": fact.epoch, **_known(fact)}


def _coordinator(fact: Fact) -> Model:
    return {"type": fact.key[1], "key": fact.key[2], **_known(fact)}


def _brokers(dataset: Dataset, state: dict[Any, Fact], moves: list[Any], at_ns: int | None) -> list[Model]:
    """Nodes with what they are advertised as, their racks, addresses, and connections (open at the time, if one)."""
    seen: dict[int, dict[str, int]] = {}
    for row in _servers(dataset, at_ns):
        if row["node_id"] is not None:
            place = address(row["server_ip"], row["server_port"]) or ""
            seen.setdefault(row["node_id"], {}).setdefault(place, 0)
            seen[row["node_id"]][place] += 1
    told: dict[int, list[Fact]] = {}
    for fact in _of_kind(state, "broker"):
        told.setdefault(fact.key[1], []).append(fact)
    where = {node: kind for _, kind, node, _ in moves}
    out = []
    for node in sorted({*told, *seen}):
        facts = told.get(node, [])
        first = min(facts, key=lambda fact: fact.since_ns, default=None)
        out.append(
            {
                "node_id": node,
                "advertised": [address(fact.key[2], fact.key[3]) for fact in facts],
                "rack": next((fact.rack for fact in facts if fact.rack), None),
                "addresses": [place for place, _ in sorted(seen.get(node, {}).items(), key=lambda i: (-i[1], i[0]))],
                "n_connections": sum(seen.get(node, {}).values()),
                "listed": None if first is None else where.get(node) != "gone",
                "since_ns": None if first is None else first.since_ns,
                "source": TOLD,
                "request_id": None if first is None else first.request_id,
            }
        )
    return out


def _servers(dataset: Dataset, at_ns: int | None) -> list[Model]:
    columns = ["server_ip", "server_port", "node_id", "node_id_why", "protocol", "first_ns", "last_ns"]
    return [
        row
        for row in rows(dataset, CONNECTIONS, columns, one_of("protocol", ["kafka"]))
        if at_ns is None or row["first_ns"] <= at_ns <= row["last_ns"]
    ]


def _open_addresses(dataset: Dataset, at_ns: int | None) -> list[Model]:
    """Kafka servers whose node is not known, and why."""
    found: dict[tuple[str, str], int] = {}
    for row in _servers(dataset, at_ns):
        if row["node_id"] is None:
            place = address(row["server_ip"], row["server_port"]) or "", row["node_id_why"] or "nothing tells"
            found[place] = found.get(place, 0) + 1
    return [{"address": place, "why": why, "n_connections": n} for (place, why), n in sorted(found.items())]


def _changes(changes: list[Change], moves: list[Any]) -> list[Model]:
    """Moves of leaders (partitions of a topic together), of coordinators and of the raft log, brokers that came and
    went, by time. Whom Metadata names controller is no change: in KRaft it is any broker.
    """
    out: list[Model] = []
    for ts_ns, kind, node, request_id in moves:
        out.append(_change(ts_ns, "broker", f"node {node}", node, kind, request_id))
    open_moves: dict[tuple[Any, ...], Model] = {}
    for change in changes:
        before, after = change.before, change.after
        if before is None or after.key[0] not in ("leader", "coordinator", *ACTIVE_CONTROLLER):
            continue
        what = {"from": before.node_id, "to": after.node_id}
        if after.key == ACTIVE_CONTROLLER:
            row = _change(after.since_ns, "controller", "ZooKeeper", after.node_id, "moved")
            out.append({**row, **what, "epochs": [after.epoch], "request_id": after.request_id})
            continue
        if after.key[0] == "coordinator":
            row = _change(after.since_ns, f"{after.key[1]} coordinator", after.key[2], after.node_id, "moved")
            out.append({**row, **what, "request_id": after.request_id})
            continue
        same = (after.key[1], before.node_id, after.node_id)
        known = open_moves.get(same)
        if known is None or after.since_ns - known["last_ns"] > SAME_MOVE_NS:
            kind = "controller" if after.key[1:] == RAFT_LOG else "leader"
            row = _change(after.since_ns, kind, after.key[1], after.node_id, "moved")
            row |= {**what, "partitions": [], "epochs": [], "request_id": after.request_id}
            out.append(row)
            known = open_moves[same] = row
        known["last_ns"] = after.since_ns
        known["partitions"] = sorted({*known["partitions"], after.key[2]})
        known["epochs"] = sorted({*known["epochs"], *([after.epoch] if after.epoch is not None else [])})
    return sorted(out, key=lambda row: (row["ts_ns"], row["kind"], row["subject"], str(row["to"])))


def _change(ts_ns: int, kind: str, subject: str, node: int | None, what: str, request_id: str | None = None) -> Model:
    row: Model = {"ts_ns": ts_ns, "last_ns": ts_ns, "kind": kind, "subject": subject, "what": what}
    return {**row, "node_id": node, "from": None, "to": None, "partitions": [], "epochs": [], "request_id": request_id}


def _add_packets(dataset: Dataset, model: Model) -> None:
    """api_name and packet_no (of the answer) to everything that has a request_id."""
    places = [*model["brokers"], *model["leaders"], *model["coordinators"], *(model["changes"] or ())]
    places += [model["controller"]] if model["controller"] else []
    wanted = sorted({place["request_id"] for place in places if place["request_id"]})
    columns = ["request_id", "api_name", "response_packet_no", "capture_id"]
    known = {row["request_id"]: row for row in rows(dataset, REQUESTS, columns, one_of("request_id", wanted))}
    for place in places:
        row = known.get(place["request_id"], {})
        place["api_name"], place["packet_no"] = row.get("api_name"), row.get("response_packet_no")
        place["capture_id"] = row.get("capture_id")
