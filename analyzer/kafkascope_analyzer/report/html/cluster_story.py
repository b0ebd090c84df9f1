"""Who led and coordinated what, from when on: what the page needs to draw the cluster at any moment."""

from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.listed_brokers import broker_moves
from kafkascope_analyzer.report.model.topology import topology_model
from kafkascope_analyzer.report.model.topology_facts import Replay, facts_in_order
from kafkascope_analyzer.report.words import node, ranges, safe

MOST_SUBJECTS = 2_000
"""Partitions and coordinator keys whose owners are listed; those that moved first."""
MOST_CHANGES = 5_000

Row = dict[str, Any]


def load_cluster(dataset: Dataset) -> Row:
    """brokers; changes as `kafkascope topology` lists them; owners: by subject the nodes and since when each."""
    model = topology_model(dataset)
    changes = [{**change, "text": _text(change)} for change in model["changes"] or []]
    owners = _owners(dataset)
    moved_first = sorted(owners, key=lambda key: (-len(owners[key]), key))[:MOST_SUBJECTS]
    return {
        "brokers": model["brokers"],
        "controller": model["controller"],
        "n_changes": len(changes),
        "changes": changes[:MOST_CHANGES],
        "presence": [{"at_ns": at, "node_id": node, "what": what} for at, what, node, _ in broker_moves(dataset)],
        "n_owners": len(owners),
        "owners": [
            {
                "kind": key[0],
                "subject": key[1],
                "node_ids": [node for _, node in owners[key]],
                "since_ns": [since for since, _ in owners[key]],
            }
            for key in sorted(moved_first)
        ],
    }


def _text(change: Row) -> str:
    """What changed, in a sentence without its time."""
    name = safe(change["subject"])
    if change["kind"] == "broker":
        return f"{name} {'left the brokers that Metadata lists' if change['what'] == 'gone' else 'is listed again'}"
    partitions = f" {ranges(change['partitions'])}" if change["partitions"] else ""
    before, after = node(change["from"], None), node(change["to"], None)
    return f"{change['kind']} of {name}{partitions} moved from {before} to {after}"


def _owners(dataset: Dataset) -> dict[tuple[str, str], list[tuple[int, int | None]]]:
    found: dict[tuple[str, str], list[tuple[int, int | None]]] = {}
    replay = Replay()
    for fact in facts_in_order(dataset):
        change = replay.take(fact)
        if change is None or fact.key[0] not in ("leader", "coordinator"):
            continue
        if fact.key[0] == "leader":
            key = "leader", f"{fact.key[1]}-{fact.key[2]}"
        else:
            key = f"{fact.key[1]} coordinator", str(fact.key[2])
        found.setdefault(key, []).append((fact.since_ns, fact.node_id))
    return found
