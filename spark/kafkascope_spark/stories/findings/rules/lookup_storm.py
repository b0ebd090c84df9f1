"""`lookup_storm`: a client asks for Metadata or coordinators many times a second."""

from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import all_of, largest, smallest, total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.rules.bootstrap_only import GREETING, LOOKUPS, METADATA
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER, USAGE
from kafkascope_spark.stories.findings.sql import first_ids, literals
from kafkascope_spark.stories.findings.wording import client, counted, duration, node
from kafkascope_spark.stories.incidents.kinds import names_of
from kafkascope_spark.stories.settings import settings

_APIS = (*METADATA, "FindCoordinator")
_IS_FAST = all_of(
    total("n") >= limit.STORM_REQUESTS,
    total("n") * 1e9 >= (largest("last_ns") - smallest("ts_ns")) * float(limit.STORM_A_SECOND),
)
# One finding per client, server and kind of request. A client that does nothing else, and gets no error, is left to
# bootstrap_only. `n_all`, `n_others`: requests of all clients to the server in the capture, and of the others for the
# same.
_QUERY = f"""
with usages as (
    select o.client_instance_id, o.server, o.node_id, u.api_name, u.conn_id, u.n, if(u.failed, u.n, 0) as n_failed,
        u.ts_ns, u.last_ns, o.client_id, o.client_ip, o.software_name
    from usage u join owned_connections o on o.conn_id = u.conn_id
    where {NO_BROKER} and not u.is_replica
), by_server as (
    select server, sum(n) as n_all from usages group by server
), by_api as (
    select server, api_name, sum(n) as n_api from usages where api_name in {literals(_APIS)} group by server, api_name
), working as (
    select distinct client_instance_id from usages
    where n_failed > 0 or api_name not in {literals((*LOOKUPS, *GREETING))}
), storms as (
    select distinct u.client_instance_id, u.server, u.api_name
    from usages u join asked a on a.conn_id = u.conn_id and a.api_name = u.api_name
), by_client as (
    select client_instance_id, server, api_name, min(client_id) as client_id, min(client_ip) as client_ip,
        max(node_id) as node_id, sum(n) as n, sum(n_failed) as n_failed, min(ts_ns) as first_ns,
        max(last_ns) as last_ns, {first_ids("conn_id", "ts_ns")} as conn_ids
    from usages join storms using (client_instance_id, server, api_name)
    group by client_instance_id, server, api_name
)
select s.*, n_all, n_api - n as n_others, cast(null as array<string>) as evidence, array(node_id) as node_ids
from by_client s join by_server using (server) join by_api using (server, api_name)
    join working using (client_instance_id)
"""


def _sentence(f: Facts) -> str:
    lasted_s = (f.last_ns - f.first_ns) / 1e9
    failed = f", {f.n_failed:,} of which returned an error" if f.n_failed else ""
    others = f"all other clients together sent it {counted(f.n_others, 'such request')}"
    return (
        f"{client(f.client_id, f.client_ip)} sent {node(f.node_id, f.server)} {counted(f.n, f'{f.api_name} request')} "
        f"in {duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)} on{failed}: {f.n / max(lasted_s, 1):,.0f} a "
        f"second, and {100 * f.n / max(f.n_all, 1):.0f} % of all requests of clients to it; {others}"
    )


def _advice(f: Facts) -> str:
    again = settings(("retry_backoff", "metadata_age"), f.libraries, defaults=True)
    return f"{_LOOK} {_SET.format(again=again)} {_QUOTA}"


_LOOK = (
    "See in the client's log what it looks for (a topic, a leader or a coordinator that the responses do not have), "
    "and whether its application makes a client or asks for all topics at each call. Restart it, and update its "
    "library: one that refreshes its Metadata again at once has a bug."
)
_SET = "A client waits between two of them as {again} say."
_QUOTA = "A request quota (request_percentage of its user or client id) protects the brokers until then."
RULE = Rule(
    name="lookup_storm",
    title="A client asks for Metadata or coordinators many times a second",
    severity="warning",
    meaning="Clients ask for Metadata when they start, after an error, and then after minutes. One that asks all the "
    "time takes the brokers' request handlers and network from others, and the more so the larger the cluster is; many "
    "such clients can overload a cluster.",
    looks_at=f"{limit.STORM_REQUESTS} or more requests of a kind ({', '.join(_APIS)}) on a connection, "
    f"{limit.STORM_A_SECOND} a second or more from the first to the last of them, with their share of all requests of "
    "clients to that server. Brokers are left out, and clients that do nothing else and get no error (bootstrap_only).",
    advice=f"{_LOOK} {_SET.format(again=settings(('retry_backoff', 'metadata_age'), (), defaults=True))} {_QUOTA}",
    sources=("metadata.max.age.ms and retry.backoff.ms of the client settings", "KIP-13", "KIP-124"),
    detectors=(
        Detector(
            reads={
                "asked": Groups(
                    Where(USAGE, api_name=_APIS, is_replica=False), per=("conn_id", "api_name"), having=_IS_FAST
                )
            },
            query=_QUERY,
            subject=lambda f: f"{f.api_name} at {f.server}",
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=names_of(lambda kind: kind.name != "unexplained"), half_of_time=True),
)
