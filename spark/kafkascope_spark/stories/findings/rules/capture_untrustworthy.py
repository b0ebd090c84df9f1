"""`capture_untrustworthy`: the capture lacks so much that other findings and numbers may be wrong."""

from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS
from kafkascope_spark.stories.findings.conditions import above, any_of, column, count, count_if, total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import MOST_EVIDENCE
from kafkascope_spark.stories.findings.thresholds import CUT_BYTES, MISSING_SHARE, ONE_WAY_SHARE
from kafkascope_spark.stories.findings.wording import counted, ratio

_ONE_WAY = any_of(client_segments=0, server_segments=0)
_UNCUT_SNAPLEN = 65_535
"""Least snap length with which no packet is cut."""


def _connections_with(condition: str) -> str:
    return f"min_by(if({condition}, conn_id, null), if({condition}, struct(first_ns, conn_id), null), {MOST_EVIDENCE})"


# Connections with data of which only one direction was captured.
_ONE_WAY_QUERY = f"""
select null as client_instance_id, null as conn_ids, count(*) as n_all, count_if({_ONE_WAY}) as n,
    {_connections_with(str(_ONE_WAY))} as evidence, min(first_ns) as first_ns, max(last_ns) as last_ns
from connections where client_bytes + server_bytes > 0
having count_if({_ONE_WAY}) > count(*) * {ONE_WAY_SHARE}"""
_SEEN_BYTES = column("client_bytes") + column("server_bytes")
_IS_INCOMPLETE = total("missing_bytes") > (total("missing_bytes") + total(_SEEN_BYTES)) * MISSING_SHARE
# Bytes of the streams that are missing in the capture: lost packets, or packets cut by the snap length.
_MISSING_QUERY = f"""
select null as client_instance_id, null as conn_ids, streams.*, packets.*
from (
    select sum(missing_bytes) as n, sum(client_bytes + server_bytes) as n_seen,
        {_connections_with("missing_bytes > 0")} as evidence, min(first_ns) as first_ns, max(last_ns) as last_ns
    from connections having {_IS_INCOMPLETE}
) streams cross join (
    select sum(n_truncated) as n_cut, sum(n_packets) as n_packets, max(snaplen) as snaplen from captures
) packets"""
_CAPTURE_COLUMNS = """null as client_instance_id, null as conn_ids, cast(array() as array<string>) as evidence,
    path, first_ns, last_ns"""
_DROPPED_QUERY = f"select {_CAPTURE_COLUMNS}, n_dropped as n, n_packets from dropping_captures"
_DAMAGED_QUERY = f"select {_CAPTURE_COLUMNS}, unread_bytes as n, cut_at_byte, cut_why from damaged_captures"


def _one_way(f: Facts) -> str:
    return (
        f"only one direction was captured of {f.n} of {counted(f.n_all, 'connection')} with data, "
        f"from {f.begin(f.first_ns)} on"
    )


def _one_way_advice(_: Facts) -> str:
    return (
        "Capture both directions: on the host itself, or on a mirror port for both ways (rx and tx), or on all paths "
        "where routes are asymmetric. Latency, errors and who is whose client cannot be determined without it."
    )


def _packets_were_cut(f: Facts) -> bool:
    return f.n_cut is not None and f.n_cut > f.n_packets * MISSING_SHARE


def _missing(f: Facts) -> str:
    why = "packets were lost"
    if _packets_were_cut(f):
        at = f" at {f.snaplen} bytes" if f.snaplen is not None and 1 <= f.snaplen < _UNCUT_SNAPLEN else ""
        why = f"{f.n_cut} of {f.n_packets} packets were cut{at}"
    share = ratio(100 * f.n, f.n + f.n_seen)
    return f"{share} % of the bytes of all TCP streams are missing: {why}, from {f.begin(f.first_ns)} on"


def _missing_advice(f: Facts) -> str:
    if _packets_were_cut(f):
        return "Capture whole packets: tcpdump -s 0 (the default), or no snap length at the mirror."
    return (
        "Give the capture a larger buffer (tcpdump -B 65536), a filter for the brokers' ports, a faster disk, or a tap "
        "in place of an overbooked mirror port."
    )


def _dropped(f: Facts) -> str:
    return (
        f"the capturing program dropped {f.n} packets and kept {f.n_packets}, in {f.path}, from "
        f"{f.begin(f.first_ns)} on"
    )


def _dropped_advice(_: Facts) -> str:
    return "Give it a larger buffer (tcpdump -B 65536), a filter for the brokers' ports, or a faster disk."


def _damaged(f: Facts) -> str:
    return (
        f"{f.n} bytes of {f.path} could not be read, from byte {f.cut_at_byte} on ({f.cut_why}); what was read begins "
        f"at {f.begin(f.first_ns)}"
    )


def _damaged_advice(_: Facts) -> str:
    return "Copy the file again, after the capturing program has closed it."


DETECTORS = (
    Detector(
        reads={
            "one_way": Groups(Where(CONNECTIONS, _SEEN_BYTES > 0), having=count_if(_ONE_WAY) > count() * ONE_WAY_SHARE)
        },
        query=_ONE_WAY_QUERY,
        subject=lambda _: "one direction",
        sentence=_one_way,
        advice=_one_way_advice,
    ),
    Detector(
        reads={"incomplete_streams": Groups(Where(CONNECTIONS), having=_IS_INCOMPLETE)},
        query=_MISSING_QUERY,
        subject=lambda _: "missing bytes",
        sentence=_missing,
        advice=_missing_advice,
    ),
    Detector(
        reads={"dropping_captures": Where(CAPTURES, column("n_dropped") > column("n_packets") * MISSING_SHARE)},
        query=_DROPPED_QUERY,
        subject=fact("path"),
        sentence=_dropped,
        advice=_dropped_advice,
    ),
    Detector(
        reads={"damaged_captures": Where(CAPTURES, unread_bytes=above(CUT_BYTES))},
        query=_DAMAGED_QUERY,
        subject=fact("path"),
        sentence=_damaged,
        advice=_damaged_advice,
    ),
)
RULE = Rule(
    name="capture_untrustworthy",
    title="The capture itself lacks too much",
    severity="warning",
    meaning="This is about the capture, not about Kafka: packets were dropped, cut, or seen in one direction only. "
    "Roles, errors and latencies that depend on what is missing are unknown, and what other rules say may be "
    "incomplete.",
    looks_at="More than one connection in ten with data in one direction only; more than 1 % of the stream's bytes "
    "missing; more than 1 % of packets dropped, as pcapng statistics say; more than one packet's length of a file "
    "unreadable. A capture that begins in the middle of connections, or ends in the middle of a packet, is sound.",
    advice="Capture whole packets of both directions, with a buffer large enough (tcpdump -s 0 -B 65536).",
    sources=("pcapng, Interface Statistics Block", "tcpdump(1)"),
    detectors=DETECTORS,
)
