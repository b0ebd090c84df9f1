"""`Leadership`: the leaders of topic-partitions over time, as brokers reported them, and the nodes that served them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.topology_facts import Fact, Served, holders_in, served_in, topic_ids_in
from kafkascope_parsers.versions import MOST_INT32, parse_number

NO_TOPIC_ID = "A" * 22
"""Topic id that brokers report for a topic without one: 16 bytes of zeros."""


@dataclass(frozen=True, slots=True)
class Leader:
    """A node that led a topic-partition. since_ns: first packet that shows it; is_reported: whether a broker reported
    it as leader; else it is known only because it served the topic-partition."""

    node_id: int
    since_ns: int
    is_reported: bool


class Leadership:
    """Leaders, topic IDs and coordinators over time. leaders: successive leaders by topic-partition. served: nodes that
    served the same topic-partitions. topic_ids: IDs by topic, each with the time at which a broker first reported it.
    coordinators: successive coordinators by group or transactional id."""

    def __init__(
        self,
        leaders: Mapping[str, Sequence[Fact]] | None = None,
        served: Iterable[Served] = (),
        topic_ids: Mapping[str, Mapping[str, int]] | None = None,
        coordinators: Mapping[str, Sequence[Fact]] | None = None,
    ) -> None:
        self._coordinators = {} if coordinators is None else coordinators
        self._topic_ids = {} if topic_ids is None else topic_ids
        self._leaders = {} if leaders is None else leaders
        self._served: dict[str, list[Served]] = defaultdict(list)
        for each in sorted(served, key=lambda s: (s.first_ns, s.node_id)):
            self._served[each.topic_partition].append(each)

    @classmethod
    def of(cls, dataset: Dataset, topic_partitions: Collection[str]) -> "Leadership":
        """Reads the leadership of some topic-partitions from a dataset. Raises UsageError where a table cannot be
        read."""
        known = holders_in(dataset)
        return cls(known.leaders, served_in(dataset, topic_partitions), topic_ids_in(dataset), known.coordinators)

    @cached_property
    def _led(self) -> Mapping[int, Sequence[tuple[str, Fact, int]]]:
        """Topic-partitions by the node that led them, each with the time at which the next leader was first
        reported."""
        found: dict[int, list[tuple[str, Fact, int]]] = defaultdict(list)
        for topic_partition, facts in self._leaders.items():
            for fact, following in zip_longest(facts, facts[1:]):
                if fact.node_id is not None:
                    until_ns = FOREVER if following is None else following.since_ns
                    found[fact.node_id].append((topic_partition, fact, until_ns))
        return found

    @property
    def nodes(self) -> frozenset[int]:
        """All nodes that led a topic-partition."""
        return frozenset(fact.node_id for facts in self._leaders.values() for fact in facts if fact.node_id is not None)

    def led_since(self, topic_partition: str, at_ns: int, nodes: Collection[int]) -> int | None:
        """Returns when one of the nodes became leader at at_ns or later; at_ns if one of them was leader then; None if
        none ever was."""
        facts = self._leaders.get(topic_partition, ())
        first = max(bisect_right(facts, at_ns, key=lambda f: f.since_ns) - 1, 0)
        since = (fact.since_ns for fact in facts[first:] if fact.node_id in nodes)
        return next((max(since_ns, at_ns) for since_ns in since), None)

    def led_by(self, node_id: int, at_ns: int) -> dict[str, int | None]:
        """Returns the topic-partitions that a node led at a time, with the leader epochs; None for an epoch that is not
        known."""
        led = self._led.get(node_id, ())
        return {name: fact.epoch for name, fact, until_ns in led if fact.since_ns <= at_ns < until_ns}

    def former(self, topic_partition: str, node_id: int, from_ns: int, until_ns: int) -> Fact | None:
        """Returns the leadership of a node that ended with the last move away from it reported from from_ns to
        until_ns; None if there is none."""
        facts = self._leaders.get(topic_partition, ())
        moves = (before for before, after in pairwise(facts) if from_ns <= after.since_ns <= until_ns)
        return max((m for m in moves if m.node_id == node_id), key=lambda fact: fact.since_ns, default=None)

    def moves_ns(self, topic_partition: str, from_ns: int, until_ns: int) -> tuple[int, ...]:
        """Returns when another node was reported as the leader of a topic-partition, from from_ns to until_ns."""
        moves = pairwise(f for f in self._leaders.get(topic_partition, ()) if f.node_id is not None)
        return tuple(b.since_ns for a, b in moves if a.node_id != b.node_id and from_ns <= b.since_ns <= until_ns)

    def coordinator(self, name: str, at_ns: int) -> int | None:
        """Returns the node that coordinated a group or transactional id at a time, as brokers reported it; None if
        unknown."""
        fact = _latest(self._coordinators.get(name, ()), at_ns)
        return None if fact is None else fact.node_id

    def successor(self, name: str, node_id: int, from_ns: int, until_ns: int) -> Fact | None:
        """Returns the first other coordinator of a group or transactional id that was reported from from_ns to
        until_ns."""
        facts = self._coordinators.get(name, ())
        return next((f for f in facts if from_ns <= f.since_ns <= until_ns and f.node_id != node_id), None)

    @property
    def topics(self) -> dict[str, str]:
        """Names of topics by their ids."""
        return {topic_id: topic for topic, ids in self._topic_ids.items() for topic_id in ids}

    def partitions_of(self, topic: str, by_ns: int) -> frozenset[int]:
        """Returns the partitions of a topic that brokers had reported with a leader by a time."""
        known = (name.rpartition("-") for name, facts in self._leaders.items() if facts[0].since_ns <= by_ns)
        numbers = (parse_number(last, MOST_INT32) for of_topic, _, last in known if of_topic == topic)
        return frozenset(number for number in numbers if number is not None)

    def ids_of(self, topic: str) -> Mapping[str, int]:
        """Returns the IDs of a topic with the times at which brokers first reported them, in that order."""
        ids = self._topic_ids.get(topic, {})
        return {topic_id: at_ns for topic_id, at_ns in ids.items() if topic_id != NO_TOPIC_ID}

    def other_than(self, node_id: int | None, topic_partition: str, from_ns: int, until_ns: int) -> Leader | None:
        """Returns the other node that led a topic-partition from from_ns to until_ns, or that served it before and
        after from_ns; None if none is known. A leader of epoch 0 does not count, nor a topic with several ids: the
        topic was created again then, and the leader did not move."""
        facts = self._leaders.get(topic_partition, ())
        first = max(bisect_right(facts, from_ns, key=lambda f: f.since_ns) - 1, 0)
        last = bisect_right(facts, until_ns, key=lambda f: f.since_ns)
        if len({fact.topic_id for fact in facts[:last]} - {None, NO_TOPIC_ID}) > 1:
            return None
        for fact in facts[first:last]:
            if fact.node_id is not None and fact.node_id != node_id:
                return None if fact.epoch == 0 else Leader(fact.node_id, fact.since_ns, is_reported=True)
        for each in self._served[topic_partition]:
            if each.node_id != node_id and each.first_ns <= from_ns < each.last_ns:
                return Leader(each.node_id, from_ns, is_reported=False)
        return None

    def reported(self, topic_partition: str, at_ns: int) -> Leader | None:
        """Returns the leader of the latest epoch that any broker had reported by then; None if none is known."""
        fact = _latest(self._leaders.get(topic_partition, ()), at_ns)
        return None if fact is None or fact.node_id is None else Leader(fact.node_id, fact.since_ns, is_reported=True)


def _latest(facts: Sequence[Fact], at_ns: int) -> Fact | None:
    """Returns the last fact known at a time; None if there is none."""
    n_known = bisect_right(facts, at_ns, key=lambda f: f.since_ns)
    return facts[n_known - 1] if n_known else None
