"""`bootstrap_only`: a client asks where to go, again and again, and never goes there."""

import pyarrow.dataset as ds
from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs, owned
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.findings.thresholds import ASKED_AGAIN, ASKED_AGAIN_MS
from kafkascope_spark.tables import CLIENT_COLUMNS, Tables

_ASKS = "api_name in ('Metadata', 'FindCoordinator', 'DescribeCluster')"
_GREETS = (
    "api_name in ('ApiVersions', 'SaslHandshake', 'SaslAuthenticate', 'GetTelemetrySubscriptions', 'PushTelemetry')"
)
_WORKERS = frozenset({"consumer", "producer", "transactional_producer", "share_consumer", "streams", "connect"})


def find(tables: Tables) -> DataFrame:
    """One finding per client."""
    kinds = ", ".join(repr(kind) for kind in sorted(_WORKERS))
    stuck = (
        tables.once(owned)
        .where(f"kind in ({kinds})")
        .groupBy(*CLIENT_COLUMNS)
        .agg(
            *exprs(
                "array_sort(collect_set(server)) as servers",
                "array_except(flatten(collect_list(roles)), array('bootstrap', 'telemetry')) as others",
                f"bool_or(primary_role = 'bootstrap' and n_requests >= {ASKED_AGAIN}) as asked",
            )
        )
        .where("asked and size(others) = 0")
    )
    asked = (
        tables[REQUESTS]
        .where("status = 'ok'")
        .select("request_id", "conn_id", "ts_ns", "api_name", "n_errors")
        .join(tables.owners(), "conn_id")
        .join(stuck, "client_instance_id")
        .groupBy(*CLIENT_COLUMNS, "servers")
        .agg(
            *exprs(
                f"count_if({_ASKS}) as n",
                f"count_if(not {_ASKS} and not {_GREETS}) as n_others",
                f"sum(if({_ASKS}, n_errors, 0)) as n_errors",
                f"array_sort(collect_set(if({_ASKS}, api_name, null))) as apis",
                f"min(if({_ASKS}, ts_ns, null)) as first_ns",
                f"max(if({_ASKS}, ts_ns, null)) as last_ns",
                f"{wording.evidence(f'if({_ASKS}, request_id, null)')} as evidence",
            )
        )
        .where("n_errors = 0 and n_others = 0")
        .where(f"n >= {ASKED_AGAIN} and (last_ns - first_ns) div 1000000 <= n * {ASKED_AGAIN_MS}L")
    )
    return found(
        asked,
        Finding(
            severity="warning",
            sentence=f"concat({wording.called()}, ' (', kind, ') asked ', {wording.listed('servers')}, "
            f"' where to go ', n, ' times (', array_join(apis, ', '), ') in ', "
            f"{wording.lasting('(last_ns - first_ns)')}, "
            f"' from ', {wording.clock('first_ns')}, ' on, was answered, and never went there')",
            subject="array_join(slice(servers, 1, 10), ', ')",
            client="client_instance_id",
            conn_ids=wording.connections_of("evidence"),
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
        ),
    )


RULE = Rule(
    name="bootstrap_only",
    title="A client never leaves its bootstrap server",
    severity="warning",
    meaning="The client gets answers at its bootstrap address, and does none of the work it is there for: it "
    "cannot go where the answers send it, or goes by a way that was not captured.",
    looks_at="Clients that are consumers or producers by what they asked, whose connections did nothing but ask "
    "for Metadata and coordinators, without an error, at least ten times with at most ten seconds between on the "
    "average. A producer that has nothing to send asks once in minutes.",
    advice="See where advertised.listeners send it, whether it can resolve and reach that, and whether the capture "
    "was made where that traffic passes (loopback, another interface, a service mesh).",
    sources=("KIP-899", "org.apache.kafka.clients.NetworkClient"),
    find=find,
    signs=(
        Sign(CONNECTIONS, where=(ds.field("primary_role") == "bootstrap") & (ds.field("n_requests") >= ASKED_AGAIN)),
    ),
    unless=("advertised_unreachable",),
)
