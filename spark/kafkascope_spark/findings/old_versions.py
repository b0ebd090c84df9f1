"""`old_versions`: a client uses versions of requests that Kafka 4.0 removed (KIP-896)."""

import re

from kafkascope_parsers.schema.releases import api_releases
from kafkascope_spark.findings.read import Read
from kafkascope_spark.findings.rule import Detector, Facts, Rule
from kafkascope_spark.findings.shared_queries import CLIENT, USAGE
from kafkascope_spark.findings.sql import first_ids, joined_lists, sorted_set
from kafkascope_spark.findings.wording import client, clock, listed, times

LEAST = {
    key: api.spoken["4.0"].low
    for key, api in sorted(api_releases().items())
    if api.removed_in_4_0 and "broker" in api.listeners and api.spoken["4.0"].low <= api.spoken["4.0"].high
}
"""API key -> lowest version that Kafka 4.0 speaks, where it removed some. What only brokers send is not in it."""
ENOUGH = {
    "apache-kafka-java": (2, 1),
    "kafka-python": (2, 0, 2),
    "kafkajs": (1, 15, 0),
    "librdkafka": (1, 8, 2),
    "sarama": (1, 30, 1),
}
"""Releases of libraries, by the name in ApiVersions, that speak what Kafka 4.0 does. Source: KIP-896."""
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
), offers as (
    select distinct node_id, substring_index(offer, ':', 1) as api_name,
        cast(substring_index(substring_index(offer, ':', -1), '-', 1) as int) as lowest
    from connections lateral view explode(api_versions_offered) as offer where node_id is not null
), refusals as (
    select client_instance_id, {sorted_set("if(lowest > api_version, node_id, null)")} as refusing,
        {sorted_set("node_id")} as nodes
    from uses join offers using (api_name) group by client_instance_id
), each as (
    select {CLIENT}, sum(n) as n, collect_list(struct(api_key, api_name, api_version, n)) as uses,
        flatten(collect_list(conn_ids)) as conn_ids, min(first_ns) as first_ns, max(last_ns) as last_ns,
        {joined_lists("evidence", "first_ns, api_key, api_version")} as evidence
    from uses group by {CLIENT}
)
select * from each left join refusals using (client_instance_id)"""


def _software(f: Facts) -> str:
    return " ".join(part for part in (f.software_name, f.software_version) if part is not None)


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)}, {_software(f) or 'software unknown'}, uses versions that Kafka 4.0 "
        f"removed: {listed(_uses(f), MOST_USES)}, first at {clock(f.first_ns)}"
    )


def _advice(f: Facts) -> str:
    enough = ENOUGH.get(f.software_name or "")
    if enough is None:
        upgrade = RULE.advice
    elif _is_enough(f.software_version, enough):
        upgrade = f"{_software(f)} is new enough: {_LET_IT_ASK}."
    else:
        release = ".".join(map(str, enough))
        upgrade = f"Upgrade {_software(f)} to {release} or newer before the brokers get Kafka 4.0."
    return f"{upgrade} {_who_refuses(f)}"


def _is_enough(version: str | None, enough: tuple[int, ...]) -> bool:
    """Whether a version such as 2.8.2 is as new as that."""
    numbers = [int(part) for part in re.findall(r"\d+", version or "")]
    return bool(numbers) and tuple(numbers[: len(enough)]) >= enough


def _who_refuses(f: Facts) -> str:
    """Which of the capture's brokers do not offer what the client uses."""
    if f.refusing:
        return f"Of the brokers here {_nodes(f.refusing)} would refuse it."
    if f.nodes:
        return f"The brokers here ({_nodes(f.nodes)}) still answer it; those of Kafka 4.0 or newer refuse it."
    return "Brokers of Kafka 4.0 or newer refuse it."


def _nodes(ids: list[int]) -> str:
    return ("node " if len(ids) == 1 else "nodes ") + listed([str(node) for node in ids])


def _uses(f: Facts) -> list[str]:
    return sorted(
        f"{use['api_name']} v{use['api_version']} ({times(use['n'])}, v{LEAST[use['api_key']]} would do)"
        for use in f.uses
    )


_LET_IT_ASK = (
    "let it ask the broker for its versions, or tell it the broker's true one (api.version.request and "
    "broker.version.fallback of librdkafka, Version of Sarama, api_version of kafka-python)"
)
DETECTOR = Detector(
    reads={"old_usage": Read(USAGE, _IS_OLD)},
    query=_QUERY,
    subject=lambda f: ", ".join(_uses(f)[:MOST_USES]),
    sentence=_sentence,
    advice=_advice,
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
    advice="Upgrade the client library to a release that speaks the protocol of Kafka 2.1 or newer (Java clients 2.1, "
    "librdkafka 1.8.2, KafkaJS 1.15.0, Sarama 1.30.1, kafka-python 2.0.2); where the library is new, "
    f"{_LET_IT_ASK}.",
    sources=("KIP-896",),
    detectors=(DETECTOR,),
)
