"""`old_versions`: a client uses versions of requests that Kafka 4.0 removed (KIP-896)."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_parsers.schema.releases import api_releases
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import CLIENT_COLUMNS, Tables

LEAST = {
    key: api.spoken["4.0"].low
    for key, api in sorted(api_releases().items())
    if api.removed_in_4_0 and "broker" in api.listeners and api.spoken["4.0"].low <= api.spoken["4.0"].high
}
"""API key -> lowest version that Kafka 4.0 speaks, where it removed some. What only brokers send is not in it."""
REMOVED = frozenset(f"{api_releases()[key].name}:{version}" for key, least in LEAST.items() for version in range(least))


def find(tables: Tables) -> DataFrame:
    """One finding per client."""
    least = f"map({', '.join(f'{key}, {version}' for key, version in LEAST.items())})[cast(api_key as int)]"
    each = (
        tables[REQUESTS]
        .where(f"api_key in ({', '.join(map(str, LEAST))}) and status <> 'orphan_response'")
        .selectExpr("request_id", "conn_id", "ts_ns", "api_name", "cast(api_version as int) as v", f"{least} as least")
        .where("v < least")
        .join(tables.clients_by_conn.where("kind <> 'broker'"), "conn_id")
        .groupBy(*CLIENT_COLUMNS, "api_name", "v", "least")
        .agg(
            *exprs(
                "count(*) as n",
                "collect_set(conn_id) as conn_ids",
                "min(ts_ns) as first_ns",
                "max(ts_ns) as last_ns",
                f"{wording.evidence(most=20)} as evidence",
            )
        )
        .groupBy(*CLIENT_COLUMNS)
        .agg(
            *exprs(
                "sum(n) as n",
                f"array_sort(collect_list(concat(api_name, ' v', v, ' (', {wording.times('n')}, ', v', least, "
                "' would do)'))) as uses",
                "flatten(collect_list(conn_ids)) as conn_ids",
                "min(first_ns) as first_ns",
                "max(last_ns) as last_ns",
                "flatten(transform(array_sort(collect_list(struct(first_ns, evidence))), e -> e.evidence)) as evidence",
            )
        )
    )
    software = "coalesce(concat_ws(' ', software_name, software_version), '')"
    return found(
        each,
        Finding(
            severity="warning",
            sentence=f"concat({wording.called()}, if({software} = '', ', software unknown,', concat(', ', {software}, "
            f"',')), ' uses versions that Kafka 4.0 removed: ', {wording.listed('uses', 5)}, ', first at ', "
            f"{wording.clock('first_ns')})",
            subject="array_join(slice(uses, 1, 5), ', ')",
            client="client_instance_id",
            conn_ids="conn_ids",
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
        ),
    )


RULE = Rule(
    name="old_versions",
    title="A client uses versions of requests that Kafka 4.0 removed",
    severity="warning",
    meaning="Brokers of Kafka 4.0 and later no longer speak these versions: they answer UNSUPPORTED_VERSION or "
    "close the connection. The client has to be upgraded before the brokers are. Old record formats also cost "
    "brokers of 3.x a conversion of each batch.",
    looks_at="Requests whose version is below the lowest one that Kafka 4.0 speaks, by client, API and version; "
    "requests between brokers left out. Clients of Kafka 2.1 or newer, and libraries of that age, send none.",
    advice="Upgrade the client library to a release that speaks the protocol of Kafka 2.1 or newer (Java clients "
    "2.1); where the library is new, let it ask the broker for its versions, or tell it the broker's true one "
    "(api.version.request and broker.version.fallback of librdkafka, Version of Sarama, api_version of "
    "kafka-python).",
    sources=("KIP-896",),
    find=find,
    signs=(Sign(CONNECTIONS, "api_versions_used", REMOVED),),
)
