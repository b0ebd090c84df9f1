"""Packets of a trace as Perfetto's own classes read them."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("perfetto")

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from kafkascope_analyzer.report.trace import packets
from kafkascope_analyzer.report.trace.packets import TraceWriter

INT64 = st.integers(-(2**63), 2**63 - 1)


def read(file: io.BytesIO) -> pb.Trace:
    trace = pb.Trace()
    trace.ParseFromString(file.getvalue())
    return trace


@settings(max_examples=60)
@given(value=INT64, ts_ns=st.integers(0, 2**62), text=st.text(max_size=200), flow=st.integers(0, 2**64 - 1))
def test_values_at_their_limits_are_read_back(value: int, ts_ns: int, text: str, flow: int) -> None:
    text = text.encode("utf-8", "replace").decode()
    file = io.BytesIO()
    writer = TraceWriter(file)
    track = writer.process(7, text)
    writer.instant(track, ts_ns, text, {"n": value, "text": text, "yes": True, "none": None}, [flow])
    writer.flush()
    process, event = read(file).packet
    assert process.track_descriptor.process.process_name == text
    assert (event.timestamp, event.track_event.track_uuid) == (ts_ns, track)
    assert list(event.track_event.flow_ids) == [flow]
    values = [a.WhichOneof("value") for a in event.track_event.debug_annotations]
    assert values == ["int_value", "string_value", "bool_value"]
    first, second, third = event.track_event.debug_annotations
    assert (first.int_value, second.string_value, third.bool_value) == (value, text, True)


def test_a_slice_that_would_end_before_it_begins_ends_where_it_begins() -> None:
    file = io.BytesIO()
    writer = TraceWriter(file)
    writer.slice(1, (50, 40), "x", {})
    writer.flush()
    assert [packet.timestamp for packet in read(file).packet] == [50, 50]


def test_names_are_interned_up_to_a_limit_and_written_out_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packets, "MOST_INTERNED", 2)
    file = io.BytesIO()
    writer = TraceWriter(file)
    for name in ("a", "b", "c", "a"):
        writer.instant(1, 0, name, {})
    writer.flush()
    events = [packet.track_event for packet in read(file).packet]
    assert [event.name_iid for event in events] == [1, 2, 0, 1]
    assert [event.name for event in events] == ["", "", "c", ""]
    entries = [entry.name for packet in read(file).packet for entry in packet.interned_data.event_names]
    assert entries == ["a", "b"]


def test_the_clock_of_the_trace_is_that_of_the_capture() -> None:
    file = io.BytesIO()
    writer = TraceWriter(file)
    writer.begin(1_795_235_288_000_000_000)
    writer.flush()
    state, clocks = read(file).packet
    assert state.sequence_flags == pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    assert {clock.timestamp for clock in clocks.clock_snapshot.clocks} == {1_795_235_288_000_000_000}
