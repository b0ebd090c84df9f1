"""`Replicas`: changes of in-sync replicas, from the AlterPartition requests of leaders to the controller (KIP-497).

When the controller fences a broker, it removes the broker from the in-sync replicas without a request; when the broker
is back in them, a request shows it. Changes are rare, so all are kept in memory.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kafkascope_analyzer.dataset.dataset import Dataset

_RESPONSES = "messages/AlterPartition/response"


@dataclass(frozen=True, slots=True)
class IsrChange:
    """A change that the controller recorded. name: the topic-partition; isr: its in-sync replicas since ts_ns."""

    ts_ns: int
    name: str
    isr: frozenset[int]
    request_id: str


class Replicas:
    """Changes of in-sync replicas by topic-partition. changes: in any order."""

    def __init__(self, changes: Iterable[IsrChange] = ()) -> None:
        self._changes: dict[str, list[IsrChange]] = defaultdict(list)
        for change in sorted(changes, key=lambda each: (each.ts_ns, each.request_id)):
            self._changes[change.name].append(change)

    @classmethod
    def of(cls, dataset: Dataset, topics: Mapping[str, str]) -> "Replicas":
        """Reads the changes of a dataset. topics: names by topic id. Raises UsageError where a table cannot be read."""
        return cls(_changes_in(dataset, topics))

    def without(self, nodes: Collection[int], from_ns: int, until_ns: int) -> Iterator[tuple[IsrChange, int]]:
        """Yields the first change of each topic-partition from from_ns to until_ns that lacks one of the nodes, and
        that node. Only nodes count that are in another change of the topic-partition."""
        for changes in self._changes.values():
            members = frozenset[int]().union(*(change.isr for change in changes))
            for change in changes:
                gone = sorted(members.intersection(nodes) - change.isr)
                if gone and from_ns <= change.ts_ns <= until_ns:
                    yield change, gone[0]
                    break

    def back(self, node_id: int, from_ns: int, until_ns: int) -> list[IsrChange]:
        """Returns the first change of each topic-partition from from_ns to until_ns with the node in sync, in order of
        time."""
        found = (self.back_in(name, node_id, from_ns, until_ns) for name in self._changes)
        return sorted((change for change in found if change is not None), key=lambda each: (each.ts_ns, each.name))

    def back_in(self, name: str, node_id: int, from_ns: int, until_ns: int) -> IsrChange | None:
        """Returns the first change of one topic-partition from from_ns to until_ns with the node in sync; None if there
        is none."""
        changes = self._changes.get(name, ())
        return next((each for each in changes if from_ns <= each.ts_ns <= until_ns and node_id in each.isr), None)


def _changes_in(dataset: Dataset, topics: Mapping[str, str]) -> Iterator[IsrChange]:
    for batch in dataset.batches(_RESPONSES, ["request_id", "ts_ns", "topics"]):
        for row in batch.to_pylist():
            for topic in row["topics"] or ():
                topic_id = topic.get("topic_id")
                name = topic.get("topic_name") or topics.get(topic_id or "") or f"topic {topic_id}"
                for partition in topic["partitions"] or ():
                    if not partition["error_code"]:
                        isr = frozenset(partition["isr"] or ())
                        yield IsrChange(row["ts_ns"], f"{name}-{partition['partition_index']}", isr, row["request_id"])
