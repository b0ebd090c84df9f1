"""From the dataset's tables to the few rows that decide the stories, one address of a client after the other.

What is kept: every connection; how it was used (usage); the requests that decide by themselves (deciding); its
loops' percentiles (cadences); what Metadata, JoinGroup and group heartbeats told; every error code; of the
topic-partitions that had an error, the mentions that follow one. All transforms are lazy; rows of one `client_ip`
stay together, sorted by section (what is known of connections first), time, rank and packet.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as fn

from kafkascope_spark import wire
from kafkascope_spark.cadences.intervals import cadence_rows
from kafkascope_spark.deciding import deciding_requests
from kafkascope_spark.neighbours import with_near_closes
from kafkascope_spark.rows import BEAT, LOOKUP, SAMPLED, TOLD, USED
from kafkascope_spark.storms.packs import SORT
from kafkascope_spark.usage import FIRST, KEYS, answer_samples, id_samples, usages, with_luck
from kafkascope_spark.vain import asked_in_vain

AFTER_ERROR = 16
"""Mentions of a topic-partition, of each kind (_kind), kept after each error on it: those in flight, and the first
success. A client may ask for Metadata hundreds of times before it gets on."""
MENTIONED_BY = (wire.PRODUCE, wire.FETCH, wire.LIST_OFFSETS, wire.METADATA, wire.OFFSET_FOR_LEADER_EPOCH)
MENTIONED_BY_SHARE = (wire.SHARE_FETCH, wire.SHARE_ACKNOWLEDGE)
WORK = (wire.PRODUCE, wire.FETCH, *MENTIONED_BY_SHARE)

CONNECTION = [
    "conn_id",
    "client_port",
    "server_ip",
    "server_port",
    "node_id",
    "protocol",
    "first_ns",
    "last_ns",
    "syn_ns",
    "synack_ns",
    "close_kind",
    "close_ns",
    "idle_before_close_ms",
    "tls_version",
    "sasl_mechanism",
    "principal",
    "session_lifetime_ms",
    "software_name",
    "software_version",
    "n_requests",
    "n_errors",
    "advertised_host",
    "advertised_port",
]
CONNECTION_LATER = ["tls_start_ns", "tls_done_ns"]
"""Columns that a dataset may lack."""
REQUEST = [
    "request_id",
    "conn_id",
    "node_id",
    "api_key",
    "api_name",
    "api_version",
    "correlation_id",
    "ts_ns",
    "request_last_ns",
    "response_ns",
    "response_last_ns",
    "latency_us",
    "error_code",
    "error_name",
    "status",
    "group_id",
    "member_id",
    "group_instance_id",
    "generation_or_epoch",
    "transactional_id",
    "max_wait_ms",
    "coordinator_type",
    "coordinator_key",
    "sasl_mechanism",
    "n_records",
    "throttle_ms",
    "in_flight",
    "n_errors",
    "n_partitions",
]
FAILURE = [
    "request_id",
    "api_key",
    "error_name",
    "topic",
    "partition",
    "group_id",
    "transactional_id",
    "resource",
]
MENTION = ["request_id", "conn_id", "ts_ns", "api_key", "direction", "topic", "partition", "error_code"]
TOUCH = ["request_id", "conn_id", "ts_ns", "api_key", "answered", "topic", "partition", "leader_id", "hints", "vain"]
LAST = ["max_wait_ms", "last_id", "producer_id"]
"""What a usage has of the last requests."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The tables that the events are made of; learned: what Metadata, JoinGroup and heartbeats told, by conn_id
    (read.load_learned)."""

    connections: DataFrame
    requests: DataFrame
    errors: DataFrame
    partitions: DataFrame
    learned: DataFrame
    dns: DataFrame
    has_topic_errors: bool = True
    """Whether errors may name a topic without a partition."""
    vain_ids: tuple[str, ...] | None = None
    """Requests that failed with their connection (vain.ids_asked_in_vain); None: not known."""
    stormy: tuple[str, ...] = ()
    """Addresses whose requests, errors and mentions are read apart (storms)."""
    packed: tuple[DataFrame, ...] = ()
    """Rows that name the packs of those (storms.packs.NAMING)."""


def client_events(sources: Sources) -> DataFrame:
    """One row per event, partitioned by `client_ip` and sorted by SORT: client_ip, section, ts_ns, rank; and of each
    of rows.KINDS a list, with one struct in a row of that kind and null in any other: a null list costs nothing on
    the way to Python, a null struct as much as all its fields."""
    known = sources.requests.where(fn.col("api_key").isNotNull() & (fn.col("status") != "orphan_response"))
    requests = with_luck(known)
    calm = _calm(sources.stormy)
    parts = [
        connection_events(with_near_closes(sources.connections)),
        usage_events(usages(requests)),
        sample_events(id_samples(requests), of_answers=False),
        sample_events(answer_samples(sources.requests), of_answers=True),
        told_events(told_to(sources.learned, sources.connections)),
        beat_events(cadence_rows(known)),
        lookup_events(sources.dns),
        request_events(deciding_requests(requests, calm)),
        failure_events(sources.errors.where(calm)),
        touch_events(_mentions(sources, calm)),
    ]
    # Tasks are begun in this order: those of packs first, as a storm's mentions are one task, and the longest.
    parts = [*sources.packed, *parts]
    events = parts[0]
    for part in parts[1:]:
        events = events.unionByName(part, allowMissingColumns=True)
    ordered = events.repartition("client_ip").sortWithinPartitions(*SORT)
    return ordered if sources.packed else ordered.drop("packet_no", "tie")


def _calm(stormy: tuple[str, ...]) -> Column:
    """Whether a row's address is not read apart."""
    return fn.col("client_ip").isNull() | ~fn.col("client_ip").isin(*stormy) if stormy else fn.lit(True)


def _mentions(sources: Sources, calm: Column) -> DataFrame:
    ids = sources.vain_ids
    vain = asked_in_vain(sources.requests, sources.connections) if ids is None else list(ids)
    tables = sources.partitions, sources.errors.where(calm), sources.connections.where(calm)
    return only_after_errors(*tables, vain, of_topics=sources.has_topic_errors)


def only_after_errors(
    partitions: DataFrame,
    errors: DataFrame,
    connections: DataFrame,
    vain: DataFrame | list[str],
    *,
    of_topics: bool,
) -> DataFrame:
    """Mentions of topic-partitions that had an error, of the same client, that follow an error closely, and
    the errors that name the leader (KIP-951). Adds client_ip, client_id, answered, hints, vain.

    vain: request_id of requests that failed with their connection; their mentions are errors, and told themselves.
    of_topics: whether there are errors of whole topics; what follows them is looked for, too.
    """
    who = connections.select("conn_id", "client_ip", fn.get("client_ids", fn.lit(0)).alias("client_id"))
    leader = fn.coalesce("leader_id", "current_leader_id").alias("leader_id")
    # Of a topic id that the capture nowhere names nobody could tell what it is.
    named = fn.col("api_key").isin(*MENTIONED_BY, *MENTIONED_BY_SHARE) & fn.col("topic").isNotNull()
    mentions = partitions.where(named).select(*MENTION, leader, fn.lit(False).alias("vain"))
    asked = _asked(mentions, vain)
    broken = errors.where(fn.col("topic").isNotNull()).select("topic", fn.col("partition").alias("broken"))
    if asked is not None:
        broken = broken.unionByName(asked.select("topic", fn.col("partition").alias("broken")))
    broken = broken.distinct()
    same = (mentions["topic"] == broken["topic"]) & (
        broken["broken"].isNull() | (mentions["partition"] == broken["broken"])
    )
    hits = mentions.join(fn.broadcast(broken), on=same, how="left_semi")
    hits = hits if asked is None else hits.unionByName(asked)
    found = _after(hits.join(who, on="conn_id", how="inner"), "partition")
    if not of_topics:
        return found
    whole = _after(_of_whole_topics(mentions, errors).join(who, on="conn_id", how="inner"))
    return found.unionByName(whole, True).dropDuplicates(["request_id", "direction", "topic", "partition", "vain"])


def _asked(mentions: DataFrame, vain: DataFrame | list[str]) -> DataFrame | None:
    """What requests named in vain, once more: sorted as answers are, and failed."""
    if isinstance(vain, list):
        if not vain:
            return None
        of_vain = mentions.where(fn.col("request_id").isin(vain))
    else:
        of_vain = mentions.join(vain, on="request_id", how="left_semi")
    as_answer = {"direction": fn.lit("response"), "error_code": fn.lit(-1).cast("short"), "vain": fn.lit(True)}
    return of_vain.where(fn.col("direction") == "request").withColumns(as_answer)


def _of_whole_topics(mentions: DataFrame, errors: DataFrame) -> DataFrame:
    """The errors of whole topics, and the mentions of those topics."""
    denied = _topic_errors(errors)
    whole = fn.broadcast(denied.select("topic").distinct())
    return mentions.join(whole, on="topic", how="left_semi").unionByName(denied, allowMissingColumns=True)


def _topic_errors(errors: DataFrame) -> DataFrame:
    """The errors of whole topics (Metadata), as mentions: the table partitions has no row for them."""
    of_topic = errors.where(fn.col("topic").isNotNull() & fn.col("partition").isNull() & (fn.col("error_code") != 0))
    return of_topic.select(*(c for c in MENTION if c != "direction"), fn.lit("response").alias("direction"))


def _after(hits: DataFrame, *by: str) -> DataFrame:
    """Of the mentions, those that follow a failed one of the same client, topic and `by`, and the hints."""
    order = Window.partitionBy("client_ip", "client_id", "topic", *by).orderBy("ts_ns", "direction", "request_id")
    failed = fn.col("failed")
    return (
        _marked(hits)
        .withColumns(_counts(order))
        .withColumns({"follows": _since_failure(failed, order) <= AFTER_ERROR, "fails": _fails_at_once(failed, order)})
        .where((fn.col("follows") & ~failed & ~fn.col("fails")) | fn.col("hints") | fn.col("vain"))
        .drop(*_KINDS)
    )


def _marked(hits: DataFrame) -> DataFrame:
    """Add failed, answered, hints; vain is never null."""
    failed = fn.coalesce(fn.col("error_code"), fn.lit(0)) != 0
    vain = fn.coalesce("vain", fn.lit(False))
    answered = (fn.col("direction") == "response") & ~vain
    hints = failed & answered & (fn.coalesce("leader_id", fn.lit(-1)) >= 0)
    return hits.withColumns({"failed": failed, "answered": answered, "hints": hints, "vain": vain})


_KINDS = ("n_asked", "n_worked", "n_metadata", "n_rest")


def _kind(name: str) -> Column:
    """Whether the mention is of the kind: records to write or read, the answer to that (a producer may send many more
    requests than are kept before the first answer), Metadata, or what a client asks in between."""
    work, metadata = fn.col("api_key").isin(*WORK), fn.col("api_key") == wire.METADATA
    asks = fn.col("direction") == "request"
    kinds = {"n_asked": work & asks, "n_worked": work & ~asks, "n_metadata": metadata, "n_rest": ~work & ~metadata}
    return kinds[name]


def _counts(order: WindowSpec) -> dict[str, Column]:
    """Mentions of each kind until then, itself included."""
    until_now = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return {name: fn.count(fn.when(_kind(name), 1)).over(until_now) for name in _KINDS}


def _since_failure(failed: Column, order: WindowSpec) -> Column:
    """Mentions of its own kind since the last failed mention, itself included; null before the first failure."""
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    since = [fn.when(_kind(n), fn.col(n) - fn.max(fn.when(failed, fn.col(n))).over(before)) for n in _KINDS]
    return fn.coalesce(*since)


def _fails_at_once(failed: Column, order: WindowSpec) -> Column:
    """Whether the next mention is the error that answers this one: the error tells of both."""
    same = fn.lead("request_id").over(order) == fn.col("request_id")
    return fn.coalesce(same & fn.lead(failed).over(order), fn.lit(False))


def connection_events(connections: DataFrame) -> DataFrame:
    """Section 0, rank 0."""
    later = [fn.col(c) if c in connections.columns else fn.lit(None).cast("long").alias(c) for c in CONNECTION_LATER]
    body = _body("connection", *CONNECTION, *later, "near_idle_ms", "refused_after")
    return connections.select(*_keys(0, "first_ns", 0, fn.lit(0), "conn_id"), body)


def usage_events(used: DataFrame) -> DataFrame:
    """Section 0: what the connection was used for, in order of the first request."""
    body = _body("usage", *(c for c in KEYS if c != "client_ip"), "n", "first_no", "last_ns", *LAST, *FIRST)
    return used.select(*_keys(0, "ts_ns", USED, fn.col("first_no"), "conn_id"), body)


def sample_events(samples: DataFrame, of_answers: bool) -> DataFrame:
    """Section 0: times and correlation ids."""
    first = samples.withColumn("first_ns", fn.get("times", fn.lit(0)))
    which = fn.lit(of_answers).alias("of_answers")
    body = _body("samples", "conn_id", "times", "correlation_ids", which)
    return first.select(*_keys(0, "first_ns", SAMPLED, fn.lit(0), "conn_id"), body)


def told_to(learned: DataFrame, connections: DataFrame) -> DataFrame:
    """One row per connection on which something was learned: what, with the connection's client_ip and first_ns."""
    return learned.join(connections.select("conn_id", "client_ip", "first_ns"), on="conn_id", how="inner")


def told_events(told: DataFrame) -> DataFrame:
    """Section 0: servers that Metadata named, the group's terms."""
    body = _body("told", "conn_id", "servers", "producer_ids", *wire.TERMS)
    return told.select(*_keys(0, "first_ns", TOLD, fn.lit(0), "conn_id"), body)


def beat_events(beats: DataFrame) -> DataFrame:
    """Section 0: the percentiles of a loop."""
    body = _body("beat", "conn_id", "cadence", "n", "p50", "p99", "max")
    timed = beats.withColumn("zero", fn.lit(0)).withColumn("path", fn.concat_ws("|", "conn_id", "cadence"))
    return timed.select(*_keys(0, "zero", BEAT, fn.lit(0), "path"), body)


def lookup_events(dns: DataFrame) -> DataFrame:
    """Section 0: questions to name servers."""
    body = _body("lookup", "name", "ts_ns", "answer_ns", "rcode", "addresses")
    asked = dns.withColumn("path", fn.concat_ws("|", "name", "type", "client_port"))
    return asked.select(*_keys(0, "ts_ns", LOOKUP, fn.col("packet_no"), "path"), body)


def request_events(requests: DataFrame) -> DataFrame:
    """Section 1, rank 0, at the request's first byte."""
    body = _body("request", *REQUEST)
    return requests.select(*_keys(1, "ts_ns", 0, fn.col("request_packet_no"), "request_id"), body)


def failure_events(errors: DataFrame) -> DataFrame:
    """Section 1, rank 1, at the answer's first byte."""
    known = errors.where(fn.col("error_code") != 0)
    path = fn.concat_ws("|", "request_id", "where", "resource")
    body = _body("failure", *FAILURE)
    return known.withColumn("path", path).select(*_keys(1, "ts_ns", 1, fn.col("packet_no"), "path"), body)


def touch_events(mentions: DataFrame) -> DataFrame:
    """Section 1, rank 2, at the frame's first byte."""
    body = _body("touch", *TOUCH)
    named = mentions.withColumn("path", fn.concat_ws("|", "request_id", "direction", "topic", "partition"))
    return named.select(*_keys(1, "ts_ns", 2, fn.lit(0), "path"), body)


def _body(kind: str, *columns: str | Column) -> Column:
    return fn.array(fn.struct(*columns)).alias(kind)


def _keys(section: int, time: str, rank: int, packet: Column, tie: str) -> list[Column]:
    return [
        fn.coalesce("client_ip", fn.lit("")).alias("client_ip"),
        fn.lit(section).alias("section"),
        fn.col(time).cast("long").alias("ts_ns"),
        fn.lit(rank).alias("rank"),
        fn.coalesce(packet.cast("long"), fn.lit(0).cast("long")).alias("packet_no"),
        fn.col(tie).alias("tie"),
    ]
