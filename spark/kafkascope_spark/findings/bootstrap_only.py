"""`bootstrap_only`: a client asks where to go, again and again, and never goes there."""

import pyarrow.compute as pc
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
    "api_name in ('ApiVersions', 'SaslHandshake', 'SaslAuthenticate', 'GetTelemetrySubscriptions', 'PushTelemetry', "
    "'InitProducerId')"
)
"""What any broker is asked: a producer id too, where there is no transactional id (else it is a coordinator's role)."""
_WORKERS = frozenset({"consumer", "producer", "transactional_producer", "share_consumer", "streams", "connect"})


def asks_on(connections: ds.Dataset) -> bool:
    """Whether the clients of one name at one address asked so often on bootstrap connections: librdkafka opens one
    after the other."""
    rows = connections.to_table(
        columns={"ip": ds.field("client_ip"), "ids": ds.field("client_ids"), "n": ds.field("n_requests")},
        filter=ds.field("primary_role") == "bootstrap",
    )
    if not rows.num_rows:
        return False
    named = rows.set_column(1, "ids", pc.binary_join(rows["ids"], ","))
    most = pc.max(named.group_by(["ip", "ids"]).aggregate([("n", "sum")])["n_sum"]).as_py()
    return most is not None and most >= ASKED_AGAIN


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
                f"sum(if(primary_role = 'bootstrap', n_requests, 0)) >= {ASKED_AGAIN} as asked",
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
    signs=(Sign(CONNECTIONS, shows=asks_on),),
    unless=("advertised_unreachable",),
)
