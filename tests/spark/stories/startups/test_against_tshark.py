"""The steps of starts against what tshark lists of the same packets: each connection and request of a client until
it was ready, in the order in which they were sent, to the nanosecond."""

import pathlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

LISTINGS = pathlib.Path(__file__).parents[4] / "fixtures" / "starts"
LIBRARIES = {
    "libraries": {"sarama", "franz-go", "kafka-python", "kafkajs"},
    "leader_move": {"java", "librdkafka", "franz-go", "aiokafka"},
}
"""Of `libraries`, kafka-python 2.0 and kafkajs do not say what they are."""
STEPS = {
    "SYN": {"tcp_connect"},
    "0": {"first_produce"},
    "1": {"first_fetch", "first_records"},
    "2": {"list_offsets"},
    "3": {"metadata"},
    "8": {"first_commit"},
    "9": {"offset_fetch"},
    "10": {"find_coordinator_group", "find_coordinator_txn"},
    "11": {"join_group"},
    "12": {"first_heartbeat"},
    "14": {"sync_group"},
    "18": {"api_versions"},
    "22": {"init_producer_id"},
    "23": {"offset_for_leader_epoch"},
}
"""API key (or SYN) -> what it is called in a start."""
ONCE_A_CONNECTION = {"first_produce", "first_fetch", "first_records"}
ONCE = {"first_heartbeat", "first_commit"}


def listed(name: str) -> dict[str, list[tuple[int, str]]]:
    """client address:port -> (ns, SYN or API key) as tshark tells them."""
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for line in (LISTINGS / f"{name}.tsv").read_text().splitlines():
        seconds, endpoint, key = line.split("\t")
        whole, _, rest = seconds.partition(".")
        found[endpoint].append((int(whole) * 10**9 + int(rest.ljust(9, "0")), key))
    return found


def taken(steps: list[dict[str, Any]], until: int) -> list[tuple[int, str, str]]:
    """(ns, conn_id, step) as tshark can see them: of the data plane the first on each connection, of heartbeats and
    commits the first at all; an acknowledgement is no request."""
    seen: set[tuple[str, ...]] = set()
    found = []
    for step in sorted(steps, key=lambda s: s["seq"]):
        name, conn_id = step["step"], step["conn_id"]
        data = "data" if name in ONCE_A_CONNECTION else name
        if step["start_ns"] >= until or name == "first_produce_ack":
            continue
        if name in ONCE_A_CONNECTION | ONCE:
            if (conn_id, data) in seen:
                continue
            seen.add((conn_id, data))
        found.append((step["start_ns"], conn_id, name))
    return found


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_steps_are_those_that_tshark_lists(dataset_of: Callable[[str], pathlib.Path], name: str) -> None:
    dataset, lines = dataset_of(name), listed(name)

    def rows(table: str) -> list[dict[str, Any]]:
        return list(pq.read_table(dataset / table).to_pylist())

    endpoint = {c["conn_id"]: f"{c['client_ip']}:{c['client_port']}" for c in rows("connections")}
    steps = defaultdict(list)
    for step in rows("stories/startup_steps"):
        steps[step["startup_id"]].append(step)
    owned = {c["client_instance_id"]: c["conn_ids"] for c in rows("stories/clients") if c["kind"] != "broker"}
    compared = set()
    for start in rows("stories/startups"):
        if start["client_instance_id"] not in owned or start["outcome"] != "ready" or start["start_no"] > 1:
            continue
        until = start["ready_ns"]
        mine = taken(steps[start["startup_id"]], until)
        theirs, beats = [], set()
        for conn_id in owned[start["client_instance_id"]]:
            theirs += [(ns, conn_id, key) for ns, key in lines[endpoint[conn_id]] if ns < until]
        wanted = []
        for ns, conn_id, key in sorted(theirs):
            if key in ("12", "8") and key in beats:
                continue
            beats.add(key)
            wanted.append((ns, conn_id, key))
        assert [(ns, c) for ns, c, _ in mine] == [(ns, c) for ns, c, _ in wanted], start["startup_id"]
        assert all(step in STEPS[key] for (_, _, step), (_, _, key) in zip(mine, wanted, strict=True))
        assert len(mine) >= 6
        compared.add(start["expected_sequence"].partition("/")[2])
    assert compared == LIBRARIES[name]
