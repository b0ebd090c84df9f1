"""`old_versions`: a client uses versions of requests that Kafka 4.0 removed (KIP-896)."""

from kafkascope_parsers.schema.releases import api_releases
from kafkascope_spark.findings.read import Read
from kafkascope_spark.findings.rule import Detector, Facts, Rule
from kafkascope_spark.findings.shared_queries import CLIENT, USAGE
from kafkascope_spark.findings.sql import first_ids, joined_lists
from kafkascope_spark.findings.wording import client, clock, listed, times

LEAST = {
    key: api.spoken["4.0"].low
    for key, api in sorted(api_releases().items())
    if api.removed_in_4_0 and "broker" in api.listeners and api.spoken["4.0"].low <= api.spoken["4.0"].high
}
"""API key -> lowest version that Kafka 4.0 speaks, where it removed some. What only brokers send is not in it."""
MOST_USES = 5
"""Versions that a sentence lists before it counts the rest."""
_IS_OLD = " or ".join(f"(api_key = {key} and api_version < {least})" for key, least in LEAST.items())
# One finding per client.
_QUERY = f"""
with uses as (
    select {CLIENT}, api_key, api_name, api_version, count(*) as n, collect_set(conn_id) as conn_ids,
        min(ts_ns) as first_ns, max(ts_ns) as last_ns, {first_ids(most=20)} as evidence
    from (
        select request_id, conn_id, ts_ns, api_key, api_name, api_version
        from requests left semi join old_usage using (conn_id)
        where ({_IS_OLD}) and status <> 'orphan_response'
    ) join connection_clients using (conn_id)
    where kind <> 'broker'
    group by {CLIENT}, api_key, api_name, api_version
)
select {CLIENT}, sum(n) as n, collect_list(struct(api_key, api_name, api_version, n)) as uses,
    flatten(collect_list(conn_ids)) as conn_ids, min(first_ns) as first_ns, max(last_ns) as last_ns,
    {joined_lists("evidence", "first_ns, api_key, api_version")} as evidence
from uses group by {CLIENT}"""


def _sentence(f: Facts) -> str:
    software = " ".join(part for part in (f.software_name, f.software_version) if part is not None)
    return (
        f"{client(f.client_id, f.client_ip)}, {software or 'software unknown'}, uses versions that Kafka 4.0 removed: "
        f"{listed(_uses(f), MOST_USES)}, first at {clock(f.first_ns)}"
    )


def _uses(f: Facts) -> list[str]:
    return sorted(
        f"{use['api_name']} v{use['api_version']} ({times(use['n'])}, v{LEAST[use['api_key']]} would do)"
        for use in f.uses
    )


DETECTOR = Detector(
    reads={"old_usage": Read(USAGE, _IS_OLD)},
    query=_QUERY,
    subject=lambda f: ", ".join(_uses(f)[:MOST_USES]),
    sentence=_sentence,
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
    detectors=(DETECTOR,),
)
