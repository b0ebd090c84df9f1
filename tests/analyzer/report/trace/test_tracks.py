"""Tracks of a trace: nothing overlaps on one of them, and every connection has a process."""

import io
from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.report.trace import tracks as module
from kafkascope_analyzer.report.trace.packets import TraceWriter
from kafkascope_analyzer.report.trace.tracks import MOST_LANES, Tracks
from kafkascope_analyzer.report.trace_model import TraceClient, TraceConnection


class Model:
    """Clients and connections as a TraceModel gives them."""

    def __init__(self, clients: list[TraceClient], connections: list[TraceConnection]) -> None:
        self._clients, self._connections = clients, connections
        self.of_cluster = None

    def clients(self) -> Iterator[TraceClient]:
        return iter(self._clients)

    def connections(self) -> Iterator[TraceConnection]:
        return iter(self._connections)


def connection(name: str, ip: str = "10.0.0.1", close_kind: str | None = None) -> TraceConnection:
    return TraceConnection(name, ip, "svc", 4000, "10.0.0.2", 9092, 1, "bootstrap", close_kind, 5)


def tracks_of(clients: list[TraceClient], connections: list[TraceConnection]) -> tuple[Tracks, bytes]:
    file = io.BytesIO()
    writer = TraceWriter(file)
    made = Tracks(Model(clients, connections), writer)  # type: ignore[arg-type]
    writer.flush()
    return made, file.getvalue()


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=40))
def test_no_two_slices_of_a_track_overlap(found: list[tuple[int, int]]) -> None:
    made, _ = tracks_of([], [connection("a")])
    spans = sorted((begin, begin + length) for begin, length in found)
    on_track: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for span in spans:
        lane = made.free(made.of_connection["a"], span, "in flight")
        assert lane is not None
        assert all(end <= span[0] for _, end in on_track[lane])
        on_track[lane].append(span)
    most = max((sum(b <= begin < e for b, e in spans) for begin, _ in spans), default=1)
    assert len(on_track) <= max(1, most + sum(b == e for b, e in spans))


def test_beyond_its_tracks_a_slice_has_no_place() -> None:
    made, _ = tracks_of([], [connection("a")])
    lanes = [made.free(made.of_connection["a"], (0, 10), "in flight") for _ in range(MOST_LANES + 1)]
    assert len(set(lanes[:-1])) == MOST_LANES
    assert lanes[-1] is None


def test_a_connection_is_in_the_process_of_its_client_or_of_its_address() -> None:
    client = TraceClient("c1", "svc", "10.0.0.1", "producer", "java", "4.0", ("a",))
    made, data = tracks_of([client], [connection("a"), connection("b", "10.0.0.9"), connection("c", "10.0.0.9")])
    assert made.of_connection.keys() == {"a", "b", "c"}
    assert data.count(b"svc at 10.0.0.9") == 1
    assert "svc · producer · java 4.0".encode() in data


def test_connections_beyond_the_limit_are_counted_in_a_process_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 2)
    made, data = tracks_of([], [connection(name) for name in "abcd"])
    assert (len(made.of_connection), made.n_left_out) == (2, 2)
    assert b"2 connections left out: these are the first 2" in data


def test_an_end_that_is_no_orderly_close_of_the_client_is_a_mark() -> None:
    for kind, marked in (("rst_server", True), ("fin_client", False), (None, False)):
        _, data = tracks_of([], [connection("a", close_kind=kind)])
        assert (b"connection: " in data) == marked
