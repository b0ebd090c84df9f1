"""`capture_untrustworthy`: the capture lacks so much that other findings and numbers may be wrong."""

import pyarrow.dataset as ds
from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs, owned
from kafkascope_spark.findings.rule import Finding, Rule, Way, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.findings.thresholds import CUT_BYTES, MISSING_SHARE, ONE_WAY_SHARE
from kafkascope_spark.tables import Tables

_CUT = f"n_cut > n_packets * {MISSING_SHARE}"
_ALL = "min_by(if({0}, conn_id, null), if({0}, struct(first_ns, conn_id), null), 100)"


def one_way(tables: Tables) -> DataFrame:
    """Connections with data of which only one direction was captured."""
    only = "client_segments = 0 or server_segments = 0"
    rows = (
        tables.once(owned)
        .where("client_bytes + server_bytes > 0")
        .groupBy()
        .agg(
            *exprs(
                "count(*) as n_all",
                f"count_if({only}) as n",
                f"{_ALL.format(only)} as evidence",
                "min(first_ns) as first_ns",
                "max(last_ns) as last_ns",
            )
        )
        .where(f"n > n_all * {ONE_WAY_SHARE}")
    )
    sentence = (
        f"concat('only one direction was captured of ', n, ' of ', {wording.counted('n_all', 'connection')}, "
        f"' with data, from ', {wording.clock('first_ns')}, ' on')"
    )
    advice = (
        "'Capture both directions: on the host itself, or on a mirror port for both ways (rx and tx), or on all paths "
        "where routes are asymmetric. Latency, errors and who is whose client cannot be told without.'"
    )
    return _said(rows, "'one direction'", sentence, advice)


def bytes_missing(tables: Tables) -> DataFrame:
    """Stream bytes that are not in the capture: lost packets, or packets cut by the snap length."""
    rows = (
        tables[CONNECTIONS]
        .groupBy()
        .agg(
            *exprs(
                "sum(missing_bytes) as n",
                "sum(client_bytes + server_bytes) as n_seen",
                f"{_ALL.format('missing_bytes > 0')} as evidence",
                "min(first_ns) as first_ns",
                "max(last_ns) as last_ns",
            )
        )
        .where(f"n > (n + n_seen) * {MISSING_SHARE}")
        .crossJoin(
            tables[CAPTURES]
            .groupBy()
            .agg(*exprs("sum(n_truncated) as n_cut", "sum(n_packets) as n_packets", "max(snaplen) as snaplen"))
        )
    )
    share = "concat(round(100.0 * n / (n + n_seen), 1), ' %')"
    sentence = (
        f"concat({share}, ' of the bytes of all TCP streams are missing: ', if({_CUT}, "
        "concat(n_cut, ' of ', n_packets, ' packets were cut', if(snaplen between 1 and 65534, concat(' at ', snaplen, "
        f"' bytes'), '')), 'packets were lost'), ', from ', {wording.clock('first_ns')}, ' on')"
    )
    advice = (
        f"if({_CUT}, 'Capture whole packets: tcpdump -s 0 (the default), or no snap "
        "length at the mirror.', 'Give the capture a larger buffer (tcpdump -B 65536), a filter for the brokers'' "
        "ports, a faster disk, or a tap in place of an overbooked mirror port.')"
    )
    return _said(rows, "'missing bytes'", sentence, advice)


def packets_dropped(tables: Tables) -> DataFrame:
    """Packets that the capturing program says it dropped."""
    rows = (
        tables[CAPTURES]
        .where(f"n_dropped > n_packets * {MISSING_SHARE}")
        .selectExpr("*", "n_dropped as n", "cast(array() as array<string>) as evidence")
    )
    sentence = (
        "concat('the capturing program dropped ', n_dropped, ' packets and kept ', n_packets, ', in ', path, ', "
        f"from ', {wording.clock('first_ns')}, ' on')"
    )
    advice = "'Give it a larger buffer (tcpdump -B 65536), a filter for the brokers'' ports, or a faster disk.'"
    return _said(rows, "path", sentence, advice)


def file_damaged(tables: Tables) -> DataFrame:
    """A file of which more than the last packet could not be read."""
    rows = (
        tables[CAPTURES]
        .where(f"unread_bytes > {CUT_BYTES}")
        .selectExpr("*", "unread_bytes as n", "cast(array() as array<string>) as evidence")
    )
    sentence = (
        "concat(unread_bytes, ' bytes of ', path, ' could not be read, from byte ', cut_at_byte, ' on (', cut_why, "
        f"'); what was read begins at ', {wording.clock('first_ns')})"
    )
    return _said(rows, "path", sentence, "'Copy the file again, after the capturing program has closed it.'")


def _said(rows: DataFrame, subject: str, sentence: str, advice: str) -> DataFrame:
    return found(
        rows,
        Finding(
            severity="warning",
            sentence=sentence,
            subject=subject,
            conn_ids="evidence",
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
            advice=advice,
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
    find=one_way,
    signs=(Sign(CONNECTIONS, where=(ds.field("client_segments") == 0) | (ds.field("server_segments") == 0)),),
    also=(
        Way(bytes_missing, (Sign(CONNECTIONS, "missing_bytes", above=0),)),
        Way(packets_dropped, (Sign(CAPTURES, "n_dropped", above=0),)),
        Way(file_damaged, (Sign(CAPTURES, "unread_bytes", above=CUT_BYTES),)),
    ),
)
