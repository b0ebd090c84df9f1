"""How each broker looked over time: stretches of the table broker_states, with the hosts of each state joined.

A stretch in which the broker did not serve says to how many of the hosts that talked to it.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import BROKER_STATES
from kafkascope_analyzer.report.scan import rows
from kafkascope_analyzer.report.words import address, list_of, node, safe

Row = dict[str, Any]

SERVING, UNKNOWN = "serving", "unknown"
MOST_LANES = 200
MOST_STRETCHES = 500
NAMED_HOSTS = 3
_COLUMNS = [c.name for c in BROKER_STATES.columns if not c.name.endswith("_ts")]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which the broker was in one state to these hosts. to_ns: None where the capture ended in it."""

    state: str
    from_ns: int
    to_ns: int | None
    hosts: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class BrokerLane:
    """A broker, when it served somebody, and when it did not serve whom."""

    node_id: int | None
    label: str
    short_label: str
    """The label where there is little room: a broker's ports have lanes of their own."""
    serving: tuple[Stretch, ...]
    failing: tuple[Stretch, ...]


def broker_lanes(dataset: Dataset) -> tuple[BrokerLane, ...]:
    """The brokers by node id, then by address, at most MOST_LANES; none where the dataset has no broker_states."""
    found: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows(dataset, BROKER_STATES, _COLUMNS):
        place = address(row["server_ip"], row["server_port"]) or "unknown address"
        found[1 << 40 if row["node_id"] is None else row["node_id"], place].append(row)
    return tuple(_lane(place, found[node_id, place]) for node_id, place in sorted(found)[:MOST_LANES])


def _lane(place: str, states: list[Row]) -> BrokerLane:
    hosts = {row["host"] for row in states}
    failing = []
    for state in sorted({row["state"] for row in states} - {SERVING, UNKNOWN}):
        failing += _joined([row for row in states if row["state"] == state], hosts)
    failing.sort(key=lambda stretch: (stretch.from_ns, stretch.state))
    node_id = states[0]["node_id"]
    return BrokerLane(
        node_id=node_id,
        label=node(node_id, place),
        short_label=place if node_id is None else f"node {node_id} :{place.rpartition(':')[2]}",
        serving=tuple(_joined([row for row in states if row["state"] == SERVING], hosts)[:MOST_STRETCHES]),
        failing=tuple(failing[:MOST_STRETCHES]),
    )


def _joined(states: list[Row], everybody: set[str]) -> list[Stretch]:
    """Rows of one state as stretches; those that overlap are one."""
    made: list[tuple[int, int | None, set[str]]] = []
    for row in sorted(states, key=lambda row: (row["from_ns"], row["host"] or "")):
        begin, end = row["from_ns"], row["to_ns"]
        if made and (made[-1][1] is None or begin <= made[-1][1]):
            before, until, hosts = made[-1]
            made[-1] = before, None if until is None or end is None else max(until, end), hosts | {row["host"]}
        else:
            made.append((begin, end, {row["host"]}))
    state = states[0]["state"] if states else SERVING
    return [
        Stretch(state, begin, end, tuple(sorted(hosts)), _text(state, sorted(hosts), len(everybody)))
        for begin, end, hosts in made
    ]


def _text(state: str, hosts: list[str], n_hosts: int) -> str:
    """`silent to all 3 hosts`, `down to 1 of 3 hosts (10.0.0.7)`; a frozen or slow broker is so to everybody listed."""
    if state == SERVING:
        return state
    if len(hosts) == n_hosts:
        return f"{state} to all {n_hosts} hosts" if n_hosts > 1 else f"{state} to {safe(hosts[0])}"
    return f"{state} to {len(hosts)} of {n_hosts} hosts ({list_of([safe(host) for host in hosts], NAMED_HOSTS)})"
