"""`fetch_session_churn`: a broker has no room for the fetch sessions of its clients, or drops them."""

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import above, total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER, USAGE
from kafkascope_spark.stories.findings.sql import first_ids, joined_lists
from kafkascope_spark.stories.findings.wording import broker, client, duration, listed, times

FORGOTTEN = "FETCH_SESSION_ID_NOT_FOUND"
# Epoch 0 asks for a new session; a client that gets one goes on with its epochs 1, 2, 3, ... on that connection.
_SESSION_BEGINNERS = Groups(
    Where(USAGE, api_key=api_keys.FETCH, n_new_fetch_sessions=above(0), is_replica=False, status="ok"),
    per=("conn_id",),
    having=total("n_new_fetch_sessions") >= limit.SESSIONS_BEGUN,
)
# One finding per broker.
_QUERY = f"""
with new_sessions as (
    select conn_id, node_id, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns, {first_ids()} as evidence
    from requests left semi join session_beginners using (conn_id)
    where api_key = {api_keys.FETCH} and fetch_session_epoch = 0 and coalesce(replica_id, -1) < 0 and status = 'ok'
    group by conn_id, node_id
)
select node_id, sum(n) as n, min(first_ns) as first_ns, max(last_ns) as last_ns,
    {joined_lists("evidence", "first_ns, conn_id")} as evidence, collect_set(conn_id) as conn_ids,
    if(count(distinct client_instance_id) = 1, min(client_instance_id), null) as client_instance_id,
    array_sort(collect_set(struct(client_id, client_ip))) as clients
from new_sessions left join connection_clients using (conn_id)
where {NO_BROKER}
group by node_id"""


def _sentence(f: Facts) -> str:
    names = sorted({client(each["client_id"], each["client_ip"]) for each in f.clients if each["client_ip"]})
    return (
        f"{listed(names)} had to ask {broker(f.node_id) or 'one broker'} for a new fetch session {times(f.n)} within "
        f"{duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)}: it gave them none that lasts"
    )


DETECTOR = Detector(
    reads={"session_beginners": _SESSION_BEGINNERS},
    query=_QUERY,
    subject=lambda f: broker(f.node_id) or "broker",
    sentence=_sentence,
)
RULE = Rule(
    name="fetch_session_churn",
    title="A broker keeps too few fetch sessions",
    severity="warning",
    meaning="With a fetch session a consumer names only the partitions that changed. A broker whose cache of sessions "
    "is full gives none, or drops one that was not used for a while; then each Fetch names all partitions, and so does "
    "its answer.",
    looks_at=f"Fetch with session epoch 0, which asks for a new session, {limit.SESSIONS_BEGUN} times or more on one "
    f"connection. A healthy consumer asks once on each; one that gets {FORGOTTEN} asks again. Brokers' own fetches, "
    "and clients that use no sessions (epoch -1, as librdkafka) are left out.",
    advice="Raise max.incremental.fetch.session.cache.slots of the brokers (default 1000) above the number of "
    "consumers and followers that fetch from one; look for clients that open connections again and again.",
    sources=("KIP-227", "org.apache.kafka.server.FetchSession", "org.apache.kafka.clients.FetchSessionHandler"),
    detectors=(DETECTOR,),
)
