"""`fetch_session_churn`: a broker has no room for the fetch sessions of its clients, or a client does not use its
sessions."""

from collections.abc import Iterable, Mapping

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import above, total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER, USAGE
from kafkascope_spark.stories.findings.sql import first_ids, joined_lists
from kafkascope_spark.stories.findings.wording import broker, client, duration, listed, times

FORGOTTEN = "FETCH_SESSION_ID_NOT_FOUND"
# Epoch 0 requests a new session; a client with a session continues with its epochs 1, 2, 3, ... on that connection.
_SESSION_BEGINNERS = Groups(
    Where(USAGE, api_key=api_keys.FETCH, n_new_fetch_sessions=above(0), is_replica=False, status="ok"),
    per=("conn_id",),
    having=total("n_new_fetch_sessions") >= limit.SESSIONS_BEGUN,
)
# One finding per broker. A client wastes sessions if it gets one, and its next Fetch, without an error between the two,
# asks for another one. One that had used its session until then, and no error took it away, begins anew by its own
# choice, as after a rebalance: that counts for nothing.
_QUERY = f"""
with fetches as (
    select *, lag(struct(fetch_session_id, fetch_session_epoch, error_code))
        over (partition by conn_id order by ts_ns, request_id) as before
    from requests left semi join session_beginners using (conn_id)
    where api_key = {api_keys.FETCH} and coalesce(replica_id, -1) < 0 and status = 'ok'
), new_sessions as (
    select conn_id, node_id, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns, {first_ids()} as evidence,
        count_if(before.fetch_session_epoch = 0 and before.fetch_session_id <> 0 and before.error_code = 0)
            >= {limit.SESSIONS_BEGUN} as is_wasteful
    from fetches where fetch_session_epoch = 0
        and not (before.fetch_session_epoch > 0 and before.fetch_session_id <> 0 and before.error_code = 0) is true
    group by conn_id, node_id having count(*) >= {limit.SESSIONS_BEGUN}
)
select node_id, sum(n) as n, min(first_ns) as first_ns, max(last_ns) as last_ns,
    {joined_lists("evidence", "first_ns, conn_id")} as evidence, collect_set(conn_id) as conn_ids,
    if(count(distinct client_instance_id) = 1, min(client_instance_id), null) as client_instance_id,
    sum(if(is_wasteful, n, 0)) as n_wasted,
    array_sort(collect_set(if(is_wasteful, struct(client_id, client_ip), null))) as wasteful,
    array_sort(collect_set(if(is_wasteful, null, struct(client_id, client_ip)))) as clients
from new_sessions left join connection_clients using (conn_id)
where {NO_BROKER}
group by node_id"""


def _names(clients: Iterable[Mapping[str, str | None]]) -> str:
    return listed(sorted({client(each["client_id"], each["client_ip"]) for each in clients if each["client_ip"]}))


def _sentence(f: Facts) -> str:
    server = broker(f.node_id) or "one broker"
    when = f"within {duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)}"
    if not f.wasteful:
        asked = f"{_names(f.clients)} had to ask {server} for a new fetch session {times(f.n)}"
        return f"{asked} {when}: it gave them none that lasts"
    lost = f". {_names(f.clients)} began again too, {times(f.n - f.n_wasted)}" if f.clients else ""
    return (
        f"{_names(f.wasteful)} asked {server} for a new fetch session {times(f.n_wasted)} {when}: it got one, did not "
        f"use it, and asked for the next{lost}"
    )


def _advice(f: Facts) -> str:
    return _UPGRADE if f.wasteful else _MORE_ROOM


_MORE_ROOM = (
    "Raise max.incremental.fetch.session.cache.slots of the brokers (default 1000) above the number of consumers and "
    "followers that fetch from one (each session takes memory; brokers read the setting when they start); look for "
    "clients that open connections again and again."
)
_UPGRADE = (
    "The broker has room, and no client waits. Update the library of the client that does not use the sessions that "
    "it gets, or let it ask for none (session epoch -1): each of its sessions takes a place in the broker's cache "
    "(max.incremental.fetch.session.cache.slots, default 1000) from other clients, whose Fetch then names all "
    "partitions again. A larger cache would fill up in the same way."
)
DETECTOR = Detector(
    reads={"session_beginners": _SESSION_BEGINNERS},
    query=_QUERY,
    subject=lambda f: broker(f.node_id) or "broker",
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="fetch_session_churn",
    title="Fetch sessions that do not last",
    severity="warning",
    meaning="With a fetch session a consumer names only the partitions that changed. A broker whose cache of sessions "
    "is full gives none, or drops one that was not used for a while; then each Fetch names all partitions, and so does "
    "its answer. A client that asks for a new session with each Fetch fills the cache.",
    looks_at=(
        f"Fetch with session epoch 0, which asks for a new session, {limit.SESSIONS_BEGUN} times or more on one "
        f"connection. A healthy consumer asks once on each; one that gets {FORGOTTEN} asks again. Brokers' own "
        "fetches, and clients that use no sessions (epoch -1, as librdkafka) are left out. A client that got a "
        "session, and asks for another one in its next Fetch without an error in between, is named as the one that "
        "wastes them; one that used its session, lost it by no error and begins again, as after a rebalance, is "
        "left out."
    ),
    advice=f"{_MORE_ROOM} {_UPGRADE}",
    sources=("KIP-227", "org.apache.kafka.server.FetchSession", "org.apache.kafka.clients.FetchSessionHandler"),
    detectors=(DETECTOR,),
)
