"""The trace, read back with Perfetto's own classes, against the rows that it shows."""

import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset

pytest.importorskip("perfetto")

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from kafkascope_analyzer.report.trace.perfetto import write_perfetto
from kafkascope_analyzer.report.trace_model import trace_model

Write = Callable[..., Path]
HOSTILE = "\x1b[2J\u202e<b>\r\n"


class Read:
    """A trace, decoded: interned names looked up, begins and ends matched as the trace processor does."""

    def __init__(self, data: bytes) -> None:
        trace = pb.Trace()
        trace.ParseFromString(data)
        self.processes: dict[int, str] = {}
        self.threads: dict[int, tuple[int, str]] = {}
        self.tracks: dict[int, tuple[int, str]] = {}
        self.slices: list[dict[str, Any]] = []
        self.instants: list[dict[str, Any]] = []
        self.clocks: dict[int, int] = {}
        names: dict[int, str] = {}
        keys: dict[int, str] = {}
        self._events = []
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id == 1
            names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
            keys |= {entry.iid: entry.name for entry in packet.interned_data.debug_annotation_names}
            if packet.HasField("track_descriptor"):
                self._track(packet.track_descriptor)
            if packet.HasField("clock_snapshot"):
                self.clocks = {clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks}
            if packet.HasField("track_event"):
                event = packet.track_event
                args = {keys[a.name_iid]: getattr(a, a.WhichOneof("value")) for a in event.debug_annotations}
                result = {
                    "track": event.track_uuid,
                    "ts": packet.timestamp,
                    "flows": list(event.flow_ids),
                    "args": args,
                }
                self._events.append((event.type, {**result, "name": names.get(event.name_iid, event.name)}))
        self._match()

    def _track(self, track: Any) -> None:
        if track.HasField("process"):
            self.processes[track.uuid] = track.process.process_name
        elif track.HasField("thread"):
            self.threads[track.uuid] = track.parent_uuid, track.thread.thread_name
            assert track.thread.pid == self.pid_of(track.parent_uuid)
        else:
            self.tracks[track.uuid] = track.parent_uuid, track.name

    def pid_of(self, process: int) -> int:
        return list(self.processes).index(process) + 1

    def _match(self) -> None:
        begun: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for kind, event in sorted(self._events, key=lambda item: item[1]["ts"]):
            if kind == pb.TrackEvent.TYPE_SLICE_BEGIN:
                begun[event["track"]].append(event)
            elif kind == pb.TrackEvent.TYPE_SLICE_END:
                self.slices.append({**begun[event["track"]].pop(), "end": event["ts"]})
            else:
                self.instants.append(event)
        assert not [stack for stack in begun.values() if stack]

    def parent(self, track: int) -> int:
        while track in self.tracks:
            track = self.tracks[track][0]
        return track


def read(dataset: Path) -> Read:
    return Read(written(dataset, "trace"))


def written(dataset: Path, name: str) -> bytes:
    with trace_model(Dataset.open(dataset)) as model:
        write_perfetto(model, dataset.with_name(name))
    return dataset.with_name(name).read_bytes()


def test_clients_are_processes_and_connections_their_threads(dataset: Write) -> None:
    trace = read(dataset())
    assert list(trace.processes.values())[:3] == [
        "svc · producer · apache-kafka-java 4.3.1",
        "reader · consumer · apache-kafka-java 4.3.1",
        "broker-1 · broker · apache-kafka-java 4.3.1",
    ]
    of_process = defaultdict(list)
    for process, name in trace.threads.values():
        of_process[trace.processes[process].split(" ")[0]].append(name)
    assert sorted(of_process["svc"]) == [
        "node 1 (10.0.0.11:9092) · from port 40000",
        "node 1 (10.0.0.11:9092) · from port 40001",
    ]
    assert len(of_process["reader"]) == 2


def test_requests_are_slices_with_their_packets(dataset: Write, small: ModuleType) -> None:
    trace = read(dataset())
    (failed,) = [s for s in trace.slices if s["name"] == "Produce: NOT_LEADER_OR_FOLLOWER"]
    assert (failed["ts"], failed["end"]) == (small.at(4990), small.at(5000))
    wanted = {"request_id": "c1:9", "request_packet": 31, "response_packet": 32, "version": 12, "latency_us": 10_000}
    assert {key: failed["args"][key] for key in wanted} == wanted
    assert trace.threads[trace.parent(failed["track"])][1].endswith("port 40001")
    marks = Counter(mark["name"] for mark in trace.instants)
    assert marks["JoinGroup (unanswered)"] == 1
    assert marks["connection: refused"] == 1
    assert trace.clocks == {1: small.T0, 6: small.T0}


def test_pipelined_requests_do_not_overlap_on_a_track(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    times = [(0, 10), (2, 12), (4, 14), (10, 11), (12, 20), (13, 15), (30, 30)]
    rows = [
        small.request("c1", n, small.PRODUCE, a) | {"response_last_ns": small.at(b), "correlation_id": n}
        for n, (a, b) in enumerate(times)
    ]
    small.write_table(place, small.TABLES["requests"], rows[::-1])
    trace = read(place)
    produced = [s for s in trace.slices if s["name"] == "Produce"]
    assert sorted((s["ts"], s["end"]) for s in produced) == sorted((small.at(a), small.at(b)) for a, b in times)
    by_track: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for s in sorted(produced, key=lambda s: (s["ts"], s["end"])):
        by_track[s["track"]].append(s)
    assert len(by_track) == 3
    assert len({trace.parent(track) for track in by_track}) == 1
    for of_track in by_track.values():
        assert all(a["end"] <= b["ts"] for a, b in pairwise(of_track))


def test_a_flow_joins_error_recovery_and_success(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    steps = [{"seq": 1, "step": "error", "request_id": "c1:9"}, {"seq": 2, "step": "success", "request_id": "c1:3"}]
    signs = [{"seq": 1, "step": "error", "conn_id": "c3", "ts_ns": small.at(31), "error_name": "CONNECTION_REFUSED"}]
    rows = [{"recovery_id": "p1:r3", **row} for row in steps] + [{"recovery_id": "p1:r0", **row} for row in signs]
    small.write_table(place, small.TABLES["recovery_steps"], rows)
    requests = [
        small.request("c1", n, small.PRODUCE, ms) | {"response_last_ns": small.at(ms + 10)}
        for n, ms in ((9, 4990), (3, 5093))
    ]
    small.write_table(place, small.TABLES["requests"], requests)
    trace = read(place)
    recoveries = {s["args"]["recovery_id"]: s for s in trace.slices if "recovery_id" in s["args"]}
    assert set(recoveries) == {"p1:r0", "p1:r1", "p1:r2", "p1:r3"}
    assert recoveries["p1:r3"]["name"] == "NOT_LEADER_OR_FOLLOWER on clicks-3"
    assert recoveries["p1:r3"]["end"] == small.at(5103)
    (flow,) = recoveries["p1:r3"]["flows"]
    joined = [s["args"]["request_id"] for s in trace.slices if flow in s["flows"] and "request_id" in s["args"]]
    assert sorted(joined) == ["c1:3", "c1:9"]
    (sign,) = [mark for mark in trace.instants if mark["name"] == "CONNECTION_REFUSED"]
    assert sign["flows"] == recoveries["p1:r0"]["flows"] != [flow]
    assert {trace.tracks[s["track"]][1] for s in recoveries.values()} == {"recoveries"}


def test_starts_and_their_steps_are_slices_of_the_client(dataset: Write, small: ModuleType) -> None:
    trace = read(dataset())
    starts = {s["name"]: s for s in trace.slices if "startup_id" in s["args"]}
    assert set(starts) == {"start 1: ready", "start 1: failed"}
    assert (starts["start 1: ready"]["ts"], starts["start 1: ready"]["end"]) == (small.T0, small.at(400))
    steps = [s for s in trace.slices if s["track"] in trace.tracks and trace.tracks[s["track"]][1] == "start steps"]
    assert Counter(s["name"] for s in steps) == {
        "tcp connect": 1,
        "metadata": 1,
        "first produce": 1,
        "init producer id": 1,
    }
    assert {trace.processes[trace.parent(s["track"])].split(" ")[0] for s in steps} == {"svc"}
    assert [s["args"]["on_critical_path"] for s in steps if s["name"] == "init producer id"] == [False]


@pytest.mark.parametrize("stories", [True, False])
def test_hostile_text_is_escaped_and_stories_may_be_missing(dataset: Write, stories: bool) -> None:
    trace = read(dataset(text=HOSTILE, stories=stories))
    texts = [*trace.processes.values(), *(name for _, name in trace.threads.values())]
    texts += [s["name"] for s in (*trace.slices, *trace.instants)]
    texts += [v for s in (*trace.slices, *trace.instants) for v in s["args"].values() if isinstance(v, str)]
    assert not [text for text in texts if "\x1b" in text or "\u202e" in text or "\n" in text]
    assert len(trace.slices) > (8 if stories else 0)
    if stories:
        assert any(r"\x1b[2J\u202e<b>" in text for text in texts)


PEAK = """
import io, resource, sys
from kafkascope_analyzer.report.trace.packets import TraceWriter

class Nothing(io.RawIOBase):
    def write(self, data):
        return len(data)

writer = TraceWriter(Nothing())
track = writer.process(1, "p")
def peak(n):
    for number in range(n):
        writer.slice(track, (number, number + 1), "Fetch", {"request_id": f"c-{number}", "version": number})
    writer.flush()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak(2_000), peak(60_000))
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_trace() -> None:
    """60,000 slices are 10 MB of trace; they take what 2,000 took, give or take."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    few, many = map(int, done.stdout.split())
    assert many - few < 8_000


def test_how_many_requests_are_sorted_at_once_changes_nothing(dataset: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    place = dataset()
    whole = written(place, "whole")
    monkeypatch.setattr("kafkascope_analyzer.report.trace_model.REQUESTS_AT_A_TIME", 2)
    assert written(place, "parts") == whole
