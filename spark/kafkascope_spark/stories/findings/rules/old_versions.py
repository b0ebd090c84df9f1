"""`old_versions`: a client uses versions of requests that Kafka 4.0 removed (KIP-896)."""

from kafkascope_parsers.schema.releases import api_releases
from kafkascope_parsers.versions import parse_software_version
from kafkascope_spark.stories.findings.conditions import all_of, any_of, below
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import CLIENT, USAGE
from kafkascope_spark.stories.findings.sql import first_ids, joined_lists, sorted_set
from kafkascope_spark.stories.findings.wording import client, listed, times
from kafkascope_spark.stories.libraries.registry import LIBRARIES, library_of_software

LEAST = {
    key: api.spoken["4.0"].low
    for key, api in sorted(api_releases().items())
    if api.removed_in_4_0 and "broker" in api.listeners and api.spoken["4.0"].low <= api.spoken["4.0"].high
}
"""API key -> lowest version that Kafka 4.0 supports, for APIs of which it removed versions. APIs that only brokers send
are left out."""


MOST_USES = 5
"""Largest number of versions in a sentence; the rest is counted."""
_IS_OLD = any_of(*(all_of(api_key=key, api_version=below(least)) for key, least in LEAST.items()))
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
        try_cast(substring_index(substring_index(offer, ':', -1), '-', 1) as int) as lowest,
        try_cast(substring_index(offer, '-', -1) as int) as highest
    from connections lateral view explode(api_versions_offered) as offer where node_id is not null
), refusals as (
    select client_instance_id, {sorted_set("if(lowest > api_version, node_id, null)")} as refusing,
        {sorted_set("node_id")} as nodes, min(api_version >= highest) as is_limited
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
        f"removed: {listed(_uses(f), MOST_USES)}, first at {f.begin(f.first_ns)}"
    )


def _advice(f: Facts) -> str:
    return " ".join(part for part in (_what_to_change(f), _limited(f), _who_refuses(f)) if part)


def _what_to_change(f: Facts) -> str:
    """Returns the release to which the client's library should be upgraded, or the setting to change."""
    upgrade = library_of_software(f.software_name).upgrade
    if upgrade is None:
        return RULE.advice
    if upgrade.least is None:
        return f"Upgrade {upgrade.title} {_TO_2_1} and {upgrade.setting}."
    least = ".".join(map(str, upgrade.least))
    release = _release(f.software_version)
    if release is not None and release >= upgrade.least:
        change = "" if upgrade.setting is None else f": {upgrade.setting}"
        return f"{_software(f)} is new enough for Kafka 4.0{change}."
    now = "" if release is None else f" (now {f.software_version})"
    text = f"Upgrade {upgrade.title}{now} to {least} or newer before the brokers get Kafka 4.0"
    if release is not None or upgrade.setting is None:
        return f"{text}."
    return f"{text}; if it is that new already, {upgrade.setting}."


def _release(version: str | None) -> tuple[int, ...] | None:
    """Returns the numbers of a version such as 2.8.2; for 1.9.2-rdkafka-1.9.0 those of librdkafka. None if it has
    none."""
    release = parse_software_version((version or "").rpartition("rdkafka-")[2])
    return None if release is None else release.numbers


def _limited(f: Facts) -> str:
    """Returns a hint if the brokers offer no newer versions of these requests; else an empty text."""
    return "The brokers here offer no newer versions of them: upgrade these first." if f.is_limited else ""


def _who_refuses(f: Facts) -> str:
    """Returns which brokers of the capture do not support the versions of the client."""
    if f.refusing:
        return f"Of the brokers here {_nodes(f.refusing)} would refuse it, as all of Kafka 4.0 or newer do."
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


_TO_2_1 = "to a release that speaks the protocol of Kafka 2.1 or newer"
_UPGRADES = [library.upgrade for library in LIBRARIES if library.upgrade is not None]
_RELEASES = ", ".join(f"{u.title} {'.'.join(map(str, u.least))}" for u in _UPGRADES if u.least)
_SETTINGS = "; ".join(f"{u.title}: {u.setting}" for u in _UPGRADES if u.setting)
DETECTOR = Detector(
    reads={"old_usage": Where(USAGE, _IS_OLD)},
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
    advice=f"Upgrade the client library {_TO_2_1} ({_RELEASES}). Where it is that new already, let it ask the brokers "
    f"for their versions ({_SETTINGS}).",
    sources=("KIP-896",),
    detectors=(DETECTOR,),
)
