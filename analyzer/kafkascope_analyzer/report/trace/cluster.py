"""The part of a trace that is about the cluster: a process with a track for incidents, one for stalls, one for each
broker, group and transactional id with events, and counters.
"""

from kafkascope_analyzer.report.cluster_trace_model import ClusterTraceModel
from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.report.trace.flows import flow_of
from kafkascope_analyzer.report.trace.packets import Args, TraceWriter
from kafkascope_analyzer.report.trace.tracks import Tracks

PROCESS = "the cluster: incidents, stalls, brokers, groups, transactions"
MOST_TRACKS = 2_000
"""Most tracks of groups, brokers and transactional ids; slices of further ones are left out."""
MOST_EVIDENCE = 5
"""Most requests that a slice names as its proof."""


def write_cluster(model: ClusterTraceModel, writer: TraceWriter, tracks: Tracks) -> None:
    """Writes the slices and the counters under a process of their own; nothing where there are none."""
    named: set[str] = set()
    for row in model.slices():
        named.add(row.track)
        if len(named) > MOST_TRACKS:
            break
        span_ns = row.from_ns, max(row.from_ns, row.to_ns)
        name = safe(row.track)
        lane = tracks.free(tracks.named(tracks.cluster(PROCESS), name), span_ns, name)
        if lane is not None:
            args: Args = {"id": row.id and safe(row.id), "what": row.what and safe(row.what)}
            proof = {f"proof_{n}": request for n, request in enumerate(row.evidence[:MOST_EVIDENCE], 1)}
            flows = [] if row.flow is None else [flow_of(row.flow)]
            writer.slice(lane, span_ns, safe(row.name), {**args, **proof}, flows)
    counters: dict[str, int] = {}
    for point in model.points():
        if point.counter not in counters:
            if len(counters) >= MOST_TRACKS:
                break
            counters[point.counter] = writer.counter(tracks.cluster(PROCESS), safe(point.counter))
        writer.point(counters[point.counter], point.ts_ns, point.count)
