"""The grid of brokers and hosts: the state of each server address to each host that talked to it, over time."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.formatting import address, clock, node, safe, span, time_of_day
from kafkascope_analyzer.report.model.incidents.broker_lanes import NO_NODE, SERVING, UNKNOWN, StateRow
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.servers.table import STATES

CALM = (SERVING, UNKNOWN)
"""States in which no request waited for a missing response."""
MOST_SERVERS = 12
MOST_HOSTS = 8
MOST_STRETCHES = 60
"""Most servers, hosts of a server, and spans of a host in the grid. Those that did not serve longest are kept."""
_WORDS = {"serving": "served", "refusing": "refused", "turned_away": "turned away", "flow_dead": "dead flow"}
_WORDS |= {"host_silent": "host silent", "host_slow": "host slow", "flows_lost": "flows lost"}


@dataclass(frozen=True, slots=True)
class GridStretch:
    """A span of time in one state. to_ns: None where it was still in it when the capture ended."""

    state: str
    words: str
    from_ns: int
    to_ns: int | None
    text: str


@dataclass(frozen=True, slots=True)
class GridHost:
    """A host that talked to the server."""

    host: str
    kind: str
    stretches: tuple[GridStretch, ...]


@dataclass(frozen=True, slots=True)
class GridServer:
    """A server address with the hosts that talked to it. more: the number of hosts that are left out, in words."""

    label: str
    hosts: tuple[GridHost, ...]
    more: str


@dataclass(frozen=True, slots=True)
class StateGrid:
    """Servers by node and address. more: the number of servers that are left out, in words; states: the states in the
    grid, with their words; n_failing: spans in which a server did not serve a host."""

    servers: tuple[GridServer, ...]
    more: str
    states: tuple[tuple[str, str], ...]
    n_failing: int


def state_grid(dataset: Dataset, start_ns: int, end_ns: int) -> StateGrid:
    """Returns the grid; without rows where the dataset has no broker_states. start_ns, end_ns: the capture's start and
    end."""
    found: dict[tuple[int, str, int], list[StateRow]] = defaultdict(list)
    for row in read(dataset, StateRow):
        found[NO_NODE if row.node_id is None else row.node_id, row.server_ip, row.server_port].append(row)
    kept = sorted(sorted(found, key=lambda key: (-_failing_ns(found[key], end_ns), key))[:MOST_SERVERS])
    present = Counter(row.state for key in kept for row in found[key])
    return StateGrid(
        servers=tuple(_server(found[key], start_ns, end_ns) for key in kept),
        more=_more(len(found) - len(kept), "server address", "server addresses"),
        states=tuple((state, words_of_state(state)) for state in STATES if present[state]),
        n_failing=sum(n for state, n in present.items() if state not in CALM),
    )


def words_of_state(state: str) -> str:
    """Returns the words for a state in the grid."""
    return _WORDS.get(state, state)


def _more(n_left: int, one: str, many: str) -> str:
    """Returns how many are left out: those that served for longer."""
    if n_left <= 0:
        return ""
    return f"… and {n_left:,} more {one if n_left == 1 else many} with less trouble: table stories/broker_states"


def _failing_ns(rows: list[StateRow], end_ns: int) -> int:
    """Returns how long the server did not serve, summed over hosts."""
    return sum((end_ns if row.to_ns is None else row.to_ns) - row.from_ns for row in rows if row.state not in CALM)


def _server(rows: list[StateRow], start_ns: int, end_ns: int) -> GridServer:
    hosts: dict[str, list[StateRow]] = defaultdict(list)
    for row in rows:
        hosts[row.host].append(row)
    kept = sorted(sorted(hosts, key=lambda host: (-_failing_ns(hosts[host], end_ns), host))[:MOST_HOSTS])
    first = rows[0]
    return GridServer(
        label=node(first.node_id, address(first.server_ip, first.server_port)),
        hosts=tuple(_host(host, hosts[host], start_ns, end_ns) for host in kept),
        more=_more(len(hosts) - len(kept), "host", "hosts"),
    )


def _host(host: str, rows: list[StateRow], start_ns: int, end_ns: int) -> GridHost:
    """Returns a host with its spans by time; where there are too many, those in which it was not served."""
    worst = sorted(rows, key=lambda row: (row.state in CALM, row.from_ns))[:MOST_STRETCHES]
    kept = sorted(worst, key=lambda row: (row.from_ns, row.state))
    return GridHost(safe(host), rows[0].host_kind or "host", tuple(_stretch(row, start_ns, end_ns) for row in kept))


def _stretch(row: StateRow, start_ns: int, end_ns: int) -> GridStretch:
    until = end_ns if row.to_ns is None else row.to_ns
    ended = "the end of the capture" if row.to_ns is None else clock(until - start_ns)
    times = f"{clock(row.from_ns - start_ns)} to {ended}"
    of_day = f"{time_of_day(row.from_ns)} UTC, {span((until - row.from_ns) // 1000)}"
    return GridStretch(row.state, words_of_state(row.state), row.from_ns, row.to_ns, f"{times} ({of_day})")
