"""The part of a trace that shows the cluster, read back with Perfetto's own classes, against the truth of the capture:
what was done to the brokers, what clients printed, what the brokers logged."""

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset

pytest.importorskip("perfetto")

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from kafkascope_analyzer.report.trace.cluster import PROCESS
from kafkascope_analyzer.report.trace.perfetto import write_perfetto
from kafkascope_analyzer.report.trace_model import trace_model

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "fixtures" / "captures"
TRUTH = json.loads((CAPTURES / "leader_move.truth.json").read_text())
HOSTILE = "\x1b[2J\u202e\r\n"


class Cluster:
    """The tracks below the cluster's process: slices as (name, begin, end, args, flows), and points of counters."""

    def __init__(self, dataset: Path, place: Path) -> None:
        with trace_model(Dataset.open(dataset)) as model:
            write_perfetto(model, place)
        trace = pb.Trace()
        trace.ParseFromString(place.read_bytes())
        names: dict[int, str] = {}
        keys: dict[int, str] = {}
        tracks: dict[int, Any] = {}
        self.process: Any = None
        self.others: list[Any] = []
        self.slices: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self.counters: dict[str, list[tuple[int, int]]] = defaultdict(list)
        begun: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for packet in trace.packet:
            names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
            keys |= {entry.iid: entry.name for entry in packet.interned_data.debug_annotation_names}
            if packet.HasField("track_descriptor"):
                tracks[packet.track_descriptor.uuid] = packet.track_descriptor
                self._process(packet.track_descriptor)
            elif packet.HasField("track_event"):
                event = packet.track_event
                if (name := self._track(tracks, event.track_uuid)) is None:
                    continue
                args = {keys[a.name_iid]: getattr(a, a.WhichOneof("value")) for a in event.debug_annotations}
                if event.type == pb.TrackEvent.TYPE_COUNTER:
                    assert tracks[event.track_uuid].HasField("counter")
                    self.counters[name].append((packet.timestamp, event.counter_value))
                elif event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
                    begun[event.track_uuid].append((names[event.name_iid], packet.timestamp, args, set(event.flow_ids)))
                else:
                    what, since, args, flows = begun[event.track_uuid].pop()
                    self.slices[name].append((what, since, packet.timestamp, args, flows))
        assert not any(begun.values())

    def _process(self, track: Any) -> None:
        if track.HasField("process"):
            if track.process.process_name == PROCESS:
                self.process = track
            else:
                self.others.append(track)

    def _track(self, tracks: dict[int, Any], uuid: int) -> str | None:
        """The name of a track below the cluster's process, that of its first lane; None for other tracks."""
        track, name = tracks[uuid], ""
        while track.parent_uuid:
            name, track = track.name, tracks[track.parent_uuid]
        return name if self.process is not None and track.uuid == self.process.uuid else None


@pytest.fixture(scope="module")
def cluster(told_leader_move: Path, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return Cluster(told_leader_move, tmp_path_factory.mktemp("trace") / "trace")


def test_the_cluster_stands_above_the_clients(cluster: Cluster) -> None:
    assert cluster.process.sibling_order_rank < min(other.sibling_order_rank for other in cluster.others)


def test_the_killed_broker_is_an_incident_and_stalls_belong_to_it(cluster: Cluster) -> None:
    killed = next(event["ts_ns"] for event in TRUTH["events"] if "kill" in json.dumps(event).lower())
    (down,) = [each for each in cluster.slices["incidents"] if each[0].startswith("broker_down: node 3")]
    assert abs(down[1] - killed) < 2_000_000_000
    stalls = [each for each in cluster.slices["stalls"] if each[4] & down[4]]
    assert {each[0].partition(" ")[0] for each in stalls} <= {client["client_id"] for client in TRUTH["clients"]}
    assert stalls
    assert all(each[3]["id"].startswith("stall-") and each[3]["proof_1"] for each in stalls)


def test_the_killed_broker_looks_down_to_each_host(cluster: Cluster) -> None:
    seen = {name: slices for name, slices in cluster.slices.items() if name.startswith("node 3 as ")}
    assert len(seen) == 5
    assert all(any(each[0] in ("down", "refusing") for each in slices) for slices in seen.values())


def test_each_group_of_the_truth_has_its_rebalances_and_its_lag(cluster: Cluster) -> None:
    for group in TRUTH["groups"]:
        assert any(each[0].startswith("rebalance: ") for each in cluster.slices[f"group {group}"])
        assert cluster.counters[f"group {group}: lag of clicks-leader60"][-1][1] == 0


def test_requests_a_second_add_up_to_those_of_the_brokers_log(cluster: Cluster) -> None:
    with gzip.open(CAPTURES / "leader_move.requests.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    first, last = (TRUTH["captures"][0][name] / 1e6 for name in ("first_packet_ns", "last_packet_ns"))
    for node in (1, 2, 3):
        logged = sum(line["node"] == node and first <= line["ts_ms"] <= last for line in lines)
        points = cluster.counters[f"node {node}: requests a second"]
        steps = {end - begin for (begin, _), (end, _) in pairwise(points)}
        (step_ns,) = steps
        assert sum(count for _, count in points) * step_ns / 1e9 == pytest.approx(logged, rel=0.03)


def test_counters_go_forward_and_none_is_below_zero(cluster: Cluster) -> None:
    assert {name.partition(": ")[2].partition(" of ")[0] for name in cluster.counters} == {
        *("requests a second", "p99", "requests in flight", "lag"),
    }
    for points in cluster.counters.values():
        assert [ts for ts, _ in points] == sorted({ts for ts, _ in points})
        assert all(count >= 0 for _, count in points)
    assert all(points[-1][1] == 0 for name, points in cluster.counters.items() if name.endswith("in flight"))


def test_texts_of_strangers_are_safe(dataset: Callable[..., Path], tmp_path: Path) -> None:
    found = Cluster(dataset(text=HOSTILE), tmp_path / "trace")
    texts = [*found.slices, *found.counters, *(each[0] for slices in found.slices.values() for each in slices)]
    texts += [v for slices in found.slices.values() for each in slices for v in each[3].values() if isinstance(v, str)]
    assert any("\\x1b" in text for text in texts)
    assert not any(character in text for text in texts for character in HOSTILE if not character.isprintable())
