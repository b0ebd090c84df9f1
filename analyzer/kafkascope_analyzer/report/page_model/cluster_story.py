"""Leaders and coordinators over time: the data from which the page draws the cluster at any moment."""

from dataclasses import dataclass

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.topology_facts import Replay, facts_in_order
from kafkascope_analyzer.report.formatting import node, ranges, safe
from kafkascope_analyzer.report.model.listed_brokers import GONE, broker_moves
from kafkascope_analyzer.report.model.topology import ClusterChange, TopologyBroker, topology_model
from kafkascope_analyzer.report.plain import arguments_of

MOST_SUBJECTS = 2_000
"""Most partitions and coordinator keys whose owners are listed; those that moved first are kept."""
MOST_CHANGES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WordedChange(ClusterChange):
    """A change with its sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class BrokerPresence:
    """A broker that Metadata stopped listing, or listed again."""

    at_ns: int
    node_id: int
    what: str


@dataclass(frozen=True, slots=True)
class Owner:
    """The nodes that led or coordinated something, each with the time from which on it did."""

    kind: str
    subject: str
    node_ids: tuple[int | None, ...]
    since_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClusterStory:
    """The brokers, their changes, and the leaders and coordinators over time."""

    brokers: tuple[TopologyBroker, ...]
    n_changes: int
    changes: tuple[WordedChange, ...]
    presence: tuple[BrokerPresence, ...]
    owners: tuple[Owner, ...]


def load_cluster(dataset: Dataset) -> ClusterStory:
    """Returns the changes that `kafkascope topology` lists, and leaders and coordinators by subject."""
    model = topology_model(dataset)
    changes = [_with_text(change) for change in model.changes or ()]
    owners = _owners(dataset)
    moved_first = sorted(owners, key=lambda owner: (-len(owner.node_ids), owner.kind, owner.subject))[:MOST_SUBJECTS]
    return ClusterStory(
        brokers=model.brokers,
        n_changes=len(changes),
        changes=tuple(changes[:MOST_CHANGES]),
        presence=tuple(BrokerPresence(move.ts_ns, move.node_id, move.what) for move in broker_moves(dataset)),
        owners=tuple(sorted(moved_first, key=lambda owner: (owner.kind, owner.subject))),
    )


def _with_text(change: ClusterChange) -> WordedChange:
    return WordedChange(**arguments_of(change), text=_text(change))


def _text(change: ClusterChange) -> str:
    """Returns a change in a sentence without its time."""
    name = safe(change.subject)
    if change.kind == "broker":
        return f"{name} {'left the brokers that Metadata lists' if change.what == GONE else 'is listed again'}"
    partitions = f" {ranges(change.partitions)}" if change.partitions else ""
    return f"{change.kind} of {name}{partitions} moved from {node(change.from_, None)} to {node(change.to, None)}"


def _owners(dataset: Dataset) -> list[Owner]:
    found: dict[tuple[str, str], list[tuple[int | None, int]]] = {}
    replay = Replay()
    for fact in facts_in_order(dataset):
        change = replay.take(fact)
        if change is None or fact.key[0] not in ("leader", "coordinator"):
            continue
        is_leader = fact.key[0] == "leader"
        key = (
            ("leader", f"{fact.key[1]}-{fact.key[2]}")
            if is_leader
            else (f"{fact.key[1]} coordinator", str(fact.key[2]))
        )
        found.setdefault(key, []).append((fact.node_id, fact.since_ns))
    return [Owner(*key, tuple(n for n, _ in owned), tuple(at for _, at in owned)) for key, owned in found.items()]
