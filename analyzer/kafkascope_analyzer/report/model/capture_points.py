"""Capture points: the clock of each, and how much of the requests' latency is network time between two of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.formatting import count, list_of, safe, span
from kafkascope_analyzer.report.model.capture import FileRead
from kafkascope_analyzer.report.rows import select
from kafkascope_analyzer.sql.database import Database

MOST_NAMES = 8
"""Most names in a sentence, and most sentences of a kind; report.json has all."""
_NS_PER_US = 1000


@dataclass(frozen=True, slots=True)
class Point:
    """A capture point and its clock."""

    name: Annotated[str, "name of the point"]
    n_files: Annotated[int, "its files"]
    clock_reference: Annotated[str, "point on whose clock all of its times are"]
    clock_kind: Annotated[str, "how its clock differs from the reference: reference, constant, drift, steps"]
    clock_ahead_ns: Annotated[int, "how far its clock was ahead of the reference at its first packet"]
    clock_uncertainty_ns: Annotated[int, "possible error of that"]


@dataclass(frozen=True, slots=True)
class Path:
    """The network between two capture points that saw the same connections."""

    client_point: Annotated[str, "the point nearer to the clients"]
    server_point: Annotated[str, "the point nearer to the brokers"]
    times_from: Annotated[str, "point from which the times of the requests are"]
    n_connections: Annotated[int, "connections that both saw"]
    n_segments: Annotated[int, "segments that both saw"]
    to_server_p50_ns: Annotated[int, "time to the brokers, median of the connections' medians"]
    to_client_p50_ns: Annotated[int, "time to the clients, likewise"]
    n_requests: Annotated[int, "answered requests of these connections"]
    latency_p50_us: Annotated[int | None, "their latency as seen from times_from, median"]

    @property
    def round_trip_us(self) -> int:
        """Network time of both directions together, microseconds."""
        return (self.to_server_p50_ns + self.to_client_p50_ns) // _NS_PER_US


@dataclass(frozen=True, slots=True)
class CapturePoints:
    """Facts about the capture points of a dataset; empty for a dataset without them."""

    points: Annotated[tuple[Point, ...], "the points, in the order of their files"]
    paths: Annotated[tuple[Path, ...], "pairs of points that saw the same connections, those with most requests first"]
    sentences: Annotated[tuple[str, ...], "sentences about the points and paths"]


_PATHS = """
with seen as (
    select c.conn_id, f.capture_point as times_from, c.n_segments_at_both as n_segments, c.to_server_p50_ns,
        c.to_client_p50_ns, c.capture_points[1] as client_point, c.capture_points[-1] as server_point
    from connections c join captures f on f.capture_id = c.capture_id
    where c.n_segments_at_both > 0 and f.capture_point is not null
), latencies as (
    select s.client_point, s.server_point, s.times_from, count(*) as n_requests,
        quantile_disc(r.broker_us, 0.5) as latency_p50_us
    from seen s join requests r on r.conn_id = s.conn_id where r.broker_us is not null group by all
), ways as (
    select client_point, server_point, times_from, count(*) as n_connections, sum(n_segments)::bigint as n_segments,
        quantile_disc(to_server_p50_ns, 0.5) as to_server_p50_ns,
        quantile_disc(to_client_p50_ns, 0.5) as to_client_p50_ns
    from seen group by all
)
select w.*, coalesce(l.n_requests, 0) as n_requests, l.latency_p50_us
from ways w left join latencies l using (client_point, server_point, times_from)
order by n_requests desc, client_point, server_point, times_from
"""


def capture_points(database: Database, files: Sequence[FileRead]) -> CapturePoints:
    """Returns the facts about the capture points. files: the files of the capture."""
    points = tuple(_points(files))
    paths = tuple(select(database, _PATHS, Path)) if points else ()
    return CapturePoints(points, paths, tuple(_sentences(points, paths)))


def _points(files: Sequence[FileRead]) -> Iterator[Point]:
    by_name: dict[str, list[FileRead]] = {}
    for file in files:
        if file.capture_point is not None:
            by_name.setdefault(file.capture_point, []).append(file)
    for name, own in by_name.items():
        first = own[0]
        yield Point(
            name=name,
            n_files=len(own),
            clock_reference=first.clock_reference or name,
            clock_kind=first.clock_kind or "reference",
            clock_ahead_ns=first.clock_ahead_ns or 0,
            clock_uncertainty_ns=first.clock_uncertainty_ns or 0,
        )


def _sentences(points: Sequence[Point], paths: Sequence[Path]) -> Iterator[str]:
    references = list(dict.fromkeys(point.clock_reference for point in points))
    if not references:
        return
    yield f"{count(len(points), 'capture point')}; all times are by the clock of {safe(references[0])}"
    tied_points = [p for p in points if p.clock_reference == references[0] and p.name != references[0]]
    yield from (_clock_sentence(point) for point in tied_points[:MOST_NAMES])
    for reference in references[1 : MOST_NAMES + 1]:
        tied = [safe(p.name) for p in points if p.clock_reference == reference]
        yield (
            f"nothing ties {list_of(tied, MOST_NAMES)} to {safe(references[0])}: no connection was seen at both, so "
            f"the times there are by the clock of {safe(reference)}"
        )
    yield from (_path_sentence(path) for path in paths[:MOST_NAMES])
    n_more = sum(max(n - MOST_NAMES, 0) for n in (len(tied_points), len(references) - 1, len(paths)))
    if n_more:
        yield f"{count(n_more, 'more sentence')} like these left out: report.json, capture_points"


def _clock_sentence(point: Point) -> str:
    ahead = point.clock_ahead_ns
    which = "ahead" if ahead >= 0 else "behind"
    changes = {"drift": "at its first packet, and drifts", "steps": "at its first packet, and changes in steps"}
    when = changes.get(point.clock_kind, "")
    return (
        f"the clock of {safe(point.name)} was {_time(abs(ahead))} {which}{' ' if when else ''}{when} "
        f"(give or take {_time(point.clock_uncertainty_ns)}); corrected"
    )


def _path_sentence(path: Path) -> str:
    there, back = _time(path.to_server_p50_ns), _time(path.to_client_p50_ns)
    ends = f"{safe(path.client_point)} to {safe(path.server_point)}"
    network = (
        f"{count(path.n_connections, 'connection')} seen at both: {ends} takes {there}, the way back {back} (median)"
    )
    if path.latency_p50_us is None:
        return network
    latency = f"the {span(path.latency_p50_us)} that {count(path.n_requests, 'request')} took (median)"
    trip = span(path.round_trip_us)
    if path.times_from == path.client_point:
        return f"{network}; that is {trip} of {latency}"
    return f"{network}; clients wait {trip} longer than {latency} as seen from {safe(path.times_from)}"


def _time(ns: int) -> str:
    return span((ns + _NS_PER_US // 2) // _NS_PER_US)
