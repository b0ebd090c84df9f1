"""`fetch_session_churn`: a broker forgets fetch sessions that clients still use."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import client_errors, seen, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

LOST = ("FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH")


def find(tables: Tables) -> DataFrame:
    """One finding per broker."""
    each = (
        client_errors(tables, *LOST)
        .groupBy("node_id")
        .agg(
            *seen(),
            fn.expr("collect_set(client_instance_id) as clients"),
            fn.expr(f"array_sort(collect_set({wording.called()})) as names"),
            fn.expr("count(distinct conn_id) as n_connections"),
        )
        # A session that is used is safe for a while: losing more than one each while is not age, but a full cache.
        .where(
            f"n >= {limit.SESSIONS_LOST} and n > n_connections * "
            f"(1 + (last_ns - first_ns) / ({limit.SESSION_SAFE_MS} * 1000000L))"
        )
    )
    sentence = (
        "concat(coalesce(concat('Broker ', node_id), 'A broker'), ' forgot fetch sessions ', "
        f"{wording.times('n')} , ' within ', {wording.lasting('(last_ns - first_ns)')}, ' from ', "
        f"{wording.clock('first_ns')}, ', of ', {wording.listed('names')})"
    )
    return told(
        each,
        "warning",
        sentence,
        subject="concat('broker ', coalesce(node_id, '?'))",
        client="if(size(clients) = 1, clients[0], null)",
    )


RULE = Rule(
    name="fetch_session_churn",
    title="A broker keeps too few fetch sessions",
    severity="warning",
    meaning="With a fetch session a consumer or follower names only partitions that changed. When the broker has "
    "more clients than places in its cache it drops sessions that are in use; each client then sends a full Fetch "
    "with all its partitions, takes a place again, and drops somebody else's.",
    looks_at=f"FETCH_SESSION_ID_NOT_FOUND and INVALID_FETCH_SESSION_EPOCH, at least {limit.SESSIONS_LOST} from one "
    "broker and more than one per connection each two minutes: a used session is safe from eviction for so long.",
    advice="Raise max.incremental.fetch.session.cache.slots of the brokers (default 1000) above the number of "
    "consumers and followers that fetch from one; look for clients that open connections again and again.",
    sources=("KIP-227", "org.apache.kafka.server.FetchSession"),
    find=find,
    signs=(Sign(ERRORS, "error_name", frozenset(LOST)),),
)
