"""The state of each broker over time: rows of the table broker_states, with the hosts of each state joined.

A broker has one lane for all of its ports. The text of a span in which it did not serve says how many of its hosts that
affected, and on which port where that is not all of them.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.report.formatting import address, count, list_of, node, safe, span
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.tables import BROKER_STATES

SERVING, UNKNOWN = "serving", "unknown"
MOST_LANES = 200
MOST_STRETCHES = 500
NAMED_HOSTS = 3
TOGETHER_NS = 1_000_000_000
"""Hosts that are served again within this time count as served again together."""
NO_NODE = 1 << 40
"""Sort key of addresses whose node is not known: after all node ids."""


@dataclass(frozen=True, slots=True)
class StateRow(Row):
    """A span of time in which a broker was in one state to a host."""

    TABLE: ClassVar[Table] = BROKER_STATES
    node_id: int | None
    server_ip: str
    server_port: int
    host: str
    host_kind: str | None
    state: str
    from_ns: int
    to_ns: int | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A span of time in which the broker was in one state to these hosts. to_ns: None where it was still in it when the
    capture ended."""

    state: str
    from_ns: int
    to_ns: int | None
    hosts: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class BrokerLane:
    """A broker with the spans in which it served somebody, and in which it did not, and to whom."""

    node_id: int | None
    label: str
    short_label: str
    """The label where there is little room."""
    serving: tuple[Stretch, ...]
    failing: tuple[Stretch, ...]

    @property
    def state(self) -> tuple[str, str]:
        """Whether it served, as a word (failed, served, unknown), and the same in words for readers."""
        if self.failing:
            return "failed", count(len(self.failing), "failure")
        return ("served", "serving") if self.serving else ("unknown", "nobody waited for it")


def broker_lanes(dataset: Dataset) -> tuple[BrokerLane, ...]:
    """Returns the brokers by node id, then by address, at most MOST_LANES; none where the dataset has no
    broker_states."""
    found: dict[tuple[int, str], list[StateRow]] = defaultdict(list)
    for row in read(dataset, StateRow):
        found[(NO_NODE, _place(row)) if row.node_id is None else (row.node_id, "")].append(row)
    return tuple(_lane(found[key]) for key in sorted(found)[:MOST_LANES])


def _place(row: StateRow) -> str:
    return address(row.server_ip, row.server_port) or "unknown address"


def _lane(states: list[StateRow]) -> BrokerLane:
    failing = []
    for state in sorted({row.state for row in states} - {SERVING, UNKNOWN}):
        failing += _joined(state, states)
    failing.sort(key=lambda stretch: (stretch.from_ns, stretch.state))
    node_id = states[0].node_id
    return BrokerLane(
        node_id=node_id,
        label=node(node_id, _places(states)),
        short_label=_places(states) if node_id is None else f"node {node_id}",
        serving=tuple(_joined(SERVING, states)[:MOST_STRETCHES]),
        failing=tuple(failing[:MOST_STRETCHES]),
    )


def _places(states: list[StateRow]) -> str:
    """Returns the addresses of a broker: `10.0.0.11:9092, :9093`. Further ports of the same IP address are given
    without it."""
    ends = sorted({(row.server_ip, row.server_port): _place(row) for row in states}.items())
    shown = [
        f":{port}" if number and ends[number - 1][0][0] == ip else place
        for number, ((ip, port), place) in enumerate(ends)
    ]
    return list_of(shown, NAMED_HOSTS)


def _joined(state: str, states: list[StateRow]) -> list[Stretch]:
    """Joins overlapping rows of a state into spans. states: all rows of the broker."""
    made: list[list[StateRow]] = []
    until: int | None = 0
    for row in sorted(states, key=lambda row: (row.from_ns, row.host)):
        if row.state != state:
            continue
        if made and (until is None or row.from_ns <= until):
            made[-1].append(row)
            until = None if until is None or row.to_ns is None else max(until, row.to_ns)
        else:
            made.append([row])
            until = row.to_ns
    return [_stretch(state, rows_of_it, states) for rows_of_it in made]


def _stretch(state: str, joined: list[StateRow], states: list[StateRow]) -> Stretch:
    ends = [row.to_ns for row in joined]
    hosts = sorted({row.host for row in joined})
    until = None if None in ends else max(end for end in ends if end is not None)
    return Stretch(state, joined[0].from_ns, until, tuple(hosts), _text(state, joined, states))


def _text(state: str, joined: list[StateRow], states: list[StateRow]) -> str:
    """Returns `silent to all 3 hosts (to fewer after 17.6 s)` or `down to 1 of 3 hosts (10.0.0.7) on port 9093`. A
    frozen or slow broker is so to every listed host.
    """
    if state == SERVING:
        return state
    hosts, n_hosts = sorted({row.host for row in joined}), len({row.host for row in states})
    ports = {row.server_port for row in joined}
    on = f" on port {list_of(sorted(map(str, ports)), NAMED_HOSTS)}" if ports != {r.server_port for r in states} else ""
    fewer = _to_fewer(joined)
    if len(hosts) == n_hosts:
        return f"{state} to {f'all {n_hosts} hosts' if n_hosts > 1 else safe(hosts[0])}{on}{fewer}"
    names = list_of([safe(host) for host in hosts], NAMED_HOSTS)
    return f"{state} to {len(hosts)} of {n_hosts} hosts ({names}){on}{fewer}"


def _to_fewer(joined: list[StateRow]) -> str:
    """Returns when the first of several hosts was served again while the others were still waiting."""
    last_ends: dict[str, float] = {}
    for row in joined:
        end = math.inf if row.to_ns is None else row.to_ns
        last_ends[row.host] = max(end, last_ends.get(row.host, 0))
    first, last = min(last_ends.values()), max(last_ends.values())
    if last <= first + TOGETHER_NS:
        return ""
    return f" (to fewer after {span(int(first - joined[0].from_ns) // 1000)})"
