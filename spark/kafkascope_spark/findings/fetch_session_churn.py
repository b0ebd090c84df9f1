"""`fetch_session_churn`: a broker has no place for the fetch sessions of its clients, or forgets them."""

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import NO_BROKER, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

FORGOTTEN = "FETCH_SESSION_ID_NOT_FOUND"


def find(tables: Tables) -> DataFrame:
    """One finding per broker."""
    # Epoch 0 asks for a new session; who gets one goes on with its epochs 1, 2, 3, ... on that connection.
    begun = (
        tables[REQUESTS]
        .where(f"api_key = {wire.FETCH} and fetch_session_epoch = 0 and coalesce(replica_id, -1) < 0 and status = 'ok'")
        .groupBy("conn_id", "node_id")
        .agg(
            fn.expr("count(*) as n"),
            fn.expr("min(ts_ns) as first_ns"),
            fn.expr("max(ts_ns) as last_ns"),
            fn.expr(f"{wording.evidence()} as evidence"),
        )
        .where(f"n >= {limit.SESSIONS_BEGUN}")
    )
    each = (
        begun.join(tables.clients_by_conn, on="conn_id", how="left")
        .where(NO_BROKER)
        .groupBy("node_id")
        .agg(
            fn.expr("sum(n) as n"),
            fn.expr("min(first_ns) as first_ns"),
            fn.expr("max(last_ns) as last_ns"),
            fn.expr("array_distinct(flatten(collect_list(evidence))) as evidence"),
            fn.expr("collect_set(conn_id) as conn_ids"),
            fn.expr("collect_set(client_instance_id) as clients"),
            fn.expr(f"array_sort(collect_set({wording.called()})) as names"),
        )
    )
    broker = "coalesce(concat('broker ', node_id), 'one broker')"
    sentence = (
        f"concat({wording.listed('names')}, ' had to ask ', {broker}, ' for a new fetch session ', "
        f"{wording.times('n')}, ' within ', {wording.lasting('(last_ns - first_ns)')}, ' from ', "
        f"{wording.clock('first_ns')}, ': it gave them none that lasts')"
    )
    return told(
        each,
        "warning",
        sentence,
        subject="coalesce(concat('broker ', node_id), 'broker')",
        client="if(size(clients) = 1, clients[0], null)",
    )


RULE = Rule(
    name="fetch_session_churn",
    title="A broker keeps too few fetch sessions",
    severity="warning",
    meaning="With a fetch session a consumer names only the partitions that changed. A broker whose cache of sessions "
    "is full gives none, or drops one that was not used for a while; then each Fetch names all partitions, and so does "
    "its answer.",
    looks_at=f"Fetch with session epoch 0, which asks for a new session, {limit.SESSIONS_BEGUN} times or more on one "
    f"connection. A healthy consumer asks once on each; one that is told {FORGOTTEN} asks again. Brokers' own fetches, "
    "and clients that use no sessions (epoch -1, as librdkafka) are left out.",
    advice="Raise max.incremental.fetch.session.cache.slots of the brokers (default 1000) above the number of "
    "consumers and followers that fetch from one; look for clients that open connections again and again.",
    sources=("KIP-227", "org.apache.kafka.server.FetchSession", "org.apache.kafka.clients.FetchSessionHandler"),
    find=find,
    signs=(Sign(REQUESTS, where=pc.field("fetch_session_epoch") == 0, times=limit.SESSIONS_BEGUN),),
)
