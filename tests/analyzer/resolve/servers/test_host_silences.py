"""Times in which a host acknowledged nothing, from waits and runs by hand; the parts against a plain loop."""

import numpy as np
import pytest

from kafkascope_analyzer.resolve.servers.host_silences import LEAST_SERVERS, LONGEST_SIGN_NS, _joined, _parts
from kafkascope_analyzer.resolve.servers.run_union import Runs
from kafkascope_analyzer.resolve.servers.waits import Waits

SECOND = 1_000_000_000


def column(*values: float) -> np.ndarray:
    return np.array([int(value * SECOND) for value in values], np.int64)


def gaps_of(rows: list[tuple[int, float, float]]) -> Runs:
    """Pauses between the packets of hosts: host, begin and end."""
    packets = np.arange(1, len(rows) + 1)
    hosts = np.array([host for host, _, _ in rows], np.int64)
    return Runs(hosts, column(*(r[1] for r in rows)), packets, column(*(r[2] for r in rows)), packets + 1)


def waits_of(rows: list[tuple[int, float]]) -> Waits:
    """Waits of servers for an acknowledgment: server, and when it came (0: not in the capture)."""
    zeros = {name: np.zeros(len(rows), np.int64) for name in Waits.__slots__}
    of_server = {"server": np.array([server for server, _ in rows], np.int64)}
    return Waits(**zeros | of_server | {"until_ns": column(*(until for _, until in rows))})


GAPS = [(0, 8.0, 15.0), (0, 15.3, 21.0), (0, 30.0, 33.0), (1, 8.0, 20.0)]


@pytest.mark.parametrize(
    ("untils", "n"),
    [((21.2, 21.3), 3), ((21.2, 0), 3), ((21.2, 15.2), 4), ((15.1, 15.2), 4), ((0, 0), 3)],
    ids=["both later", "one never", "one before", "both before", "both never"],
)
def test_a_keep_alive_probe_of_a_host_that_acknowledges_nothing_ends_no_silence(
    untils: tuple[float, float], n: int
) -> None:
    """Recorded: nothing reached a host for 12 s; it sent a probe at 15 s. After the long time from 21 to 30 s in which
    it sent packets, another silence begins."""
    gaps, waits = gaps_of(GAPS), waits_of([(1, untils[0]), (2, untils[1])])
    part_of = _parts(waits, gaps, np.array([0, 0]))
    assert part_of.max() + 1 == n
    silences = _joined(gaps, part_of)
    assert (silences.first_ns[0], silences.last_ns[0]) == (8 * SECOND, (21 if n == 3 else 15) * SECOND)


@pytest.mark.parametrize("seed", range(5))
def test_parts_of_random_silences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for host in range(3):
        at = 0.0
        for _ in range(8):
            begin = at + float(rng.choice([0.3, 0.9, 1.5]))
            at = begin + float(rng.uniform(1, 5))
            rows.append((host, begin, at))
    gaps = gaps_of(rows)
    gap = np.sort(rng.integers(0, len(rows), 20))
    untils = [0 if rng.random() < 0.1 else rows[g][1] + rng.uniform(0.5, 12) for g in gap]
    servers = rng.integers(0, 3, 20)
    waits = waits_of(list(zip(servers.tolist(), untils, strict=True)))
    expected = [0]
    for at in range(1, len(rows)):
        same = rows[at][0] == rows[at - 1][0] and gaps.first_ns[at] - gaps.last_ns[at - 1] <= LONGEST_SIGN_NS
        crossing = {
            int(server)
            for server, g, until in zip(servers, gap, waits.until_ns, strict=True)
            if rows[g][0] == rows[at][0] and g < at and (until == 0 or until >= gaps.first_ns[at])
        }
        expected.append(expected[-1] + (not (same and len(crossing) >= LEAST_SERVERS)))
    assert _parts(waits, gaps, gap).tolist() == expected
