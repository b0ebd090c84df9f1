"""`same_error_again`: a client repeatedly gets the same error and does not react to it."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_parsers.error_facts import errors_about
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, literals
from kafkascope_spark.stories.findings.wording import broker, client, duration, listed, node, times

_SESSIONS = errors_about("fetch session", "share session")
_LIMIT_REACHED = "SHARE_SESSION_LIMIT_REACHED"
_NOT_CONTROLLER = "NOT_CONTROLLER"
_ERRORS = tuple(sorted({*_SESSIONS, _NOT_CONTROLLER}))
# One finding per client, server, API and error. Sessions belong to one broker; a change of the cluster may succeed at
# another broker. A success between two errors shows that the client reacts to them.
_QUERY = f"""
with refused as (
    select e.request_id, e.conn_id, e.ts_ns, e.api_key, e.api_name, e.error_name, e.node_id, o.server,
        o.client_instance_id, o.client_id, o.client_ip, o.software_name
    from refusals e join owned_connections o on e.conn_id = o.conn_id
    where {NO_BROKER} and o.client_instance_id is not null
), again as (
    select client_instance_id, client_id, client_ip, software_name, server, api_key, api_name, error_name,
        max(node_id) as node_id, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
        {first_ids()} as evidence, collect_set(conn_id) as conn_ids
    from refused
    group by client_instance_id, client_id, client_ip, software_name, server, api_key, api_name, error_name
    having count(*) >= {limit.REFUSED_AGAIN}
), done as (
    select a.client_instance_id, a.server, a.api_key, a.error_name, count(*) as n_done
    from again a join owned_connections o on a.client_instance_id = o.client_instance_id
        join requests r on r.conn_id = o.conn_id and r.api_key = a.api_key
    where r.status = 'ok' and r.error_code = 0 and r.n_errors = 0 and r.ts_ns between a.first_ns and a.last_ns
        and (a.error_name = '{_NOT_CONTROLLER}' or o.server = a.server)
    group by a.client_instance_id, a.server, a.api_key, a.error_name
), named as (
    select distinct node_id, ts_ns as named_ns from topology where kind = 'controller' and node_id is not null
)
select again.*, array(again.node_id) as node_ids,
    (select array_sort(collect_set(node_id)) from named where named_ns <= again.last_ns) as controllers
from again left join done using (client_instance_id, server, api_key, error_name)
where n_done is null and (
    error_name not in {literals(_SESSIONS)}
    or (n >= {limit.ASKED_AGAIN} and last_ns - first_ns >= {limit.SAME_OFFSET_MS} * 1000000L)
)"""


def _elsewhere(f: Facts) -> list[int]:
    """Returns the controllers in Metadata responses, without the node that got the request."""
    return [each for each in f.controllers if each != f.node_id]


def _meaning(f: Facts) -> str:
    if f.error_name == _NOT_CONTROLLER:
        named = listed([f"node {each}" for each in _elsewhere(f)])
        known = f", and Metadata names {named} as the controller" if named else ""
        return f"only the controller does that{known}"
    if f.error_name == _LIMIT_REACHED:
        return "the broker has as many share sessions as it allows"
    return "the broker has no such session any longer, or another epoch of it, and the client did not begin a new one"


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} asked {node(f.node_id, f.server)} for {f.api_name} {times(f.n)} within "
        f"{duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)} on and got {f.error_name} each time: "
        f"{_meaning(f)}. None of them succeeded meanwhile"
    )


def _advice(f: Facts) -> str:
    return _TEXTS[_text_of(f.error_name)].format(
        target=listed([broker(each) or "" for each in _elsewhere(f)]) or "the controller"
    )


def _text_of(error_name: str) -> str:
    return "session" if error_name in _SESSIONS - {_LIMIT_REACHED} else error_name


_TEXTS = {
    _NOT_CONTROLLER: (
        "The cluster is not the cause: the client sends this request to any broker. Let it send changes of the "
        "cluster to {target}, and ask for Metadata again after this error: update its library (older releases of "
        "several ask the broker that they are connected to). Until then the call succeeds by chance, where it lands "
        "on the controller."
    ),
    _LIMIT_REACHED: (
        "Raise group.share.max.share.sessions of the brokers above the number of share consumers, or run fewer of them."
    ),
    "session": (
        "Restart the client now, and update its library: after this error the next request has to begin a session "
        "(session id 0 and epoch 0) that names all partitions. Neither broker nor network is at fault."
    ),
}


def _all_advice(errors: Collection[str]) -> str:
    return " ".join(dict.fromkeys(_TEXTS[_text_of(name)].format(target="the controller") for name in errors))


_REFUSALS = Where(ERRORS, error_name=_ERRORS)
RULE = Rule(
    name="same_error_again",
    title="A client gets the same error again and again, and does not react to it",
    severity="error",
    meaning=(
        "These errors are part of the protocol's normal course: a client that gets one begins a new session, or "
        "asks another broker, and goes on. One that repeats the request as it was gets nothing, for as long as it "
        "runs, though brokers, network and permissions are not the cause."
    ),
    looks_at=f"{', '.join(_ERRORS)} to one client by one server for one API, {limit.REFUSED_AGAIN} times or more "
    f"(about sessions {limit.ASKED_AGAIN} times within {limit.SAME_OFFSET_MS // 1000} s or longer), with no success of "
    "that API in between: at the same server, or for what only the controller does at any. A broker whose cache of "
    "sessions is too small gives a new one each time (fetch_session_churn). Brokers are left out.",
    advice=_all_advice(_ERRORS),
    sources=("KIP-227", "KIP-932", "KIP-590", "org.apache.kafka.clients.FetchSessionHandler"),
    detectors=(
        Detector(
            reads={
                "refusals": _REFUSALS,
                "repeated": Groups(_REFUSALS, per=("client_ip", "error_name"), having=count() >= limit.REFUSED_AGAIN),
            },
            query=_QUERY,
            subject=fact("server"),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
