"""`registration_refused`: controllers do not let a broker into the cluster."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import times

_APIS = ("BrokerRegistration", "BrokerHeartbeat", "ControllerRegistration", "Vote", "BeginQuorumEpoch")
"""What brokers and controllers ask the active controller for before they serve anybody."""
_CLUSTER = (
    "Its log directories were formatted for another cluster, or its controller.quorum.voters (or "
    "controller.quorum.bootstrap.servers) name controllers of another one: compare cluster.id in meta.properties of "
    "its log directories with that of the others. Do not delete or format directories that hold records of a cluster "
    "which still needs them."
)
REFUSED = {
    "INCONSISTENT_CLUSTER_ID": ("it is of another cluster", _CLUSTER),
    "DUPLICATE_BROKER_REGISTRATION": (
        "a broker with the same node id is registered and alive",
        "Give each broker a node.id of its own. After a restart without a clean shutdown the former registration "
        "goes on until broker.session.timeout.ms is over (default 9000): then the broker can join without a change.",
    ),
    "INVALID_REGISTRATION": (
        "what it registers with does not fit: its log directories, features or listeners",
        "The log of the active controller says what does not fit.",
    ),
    "BROKER_ID_NOT_REGISTERED": (
        "the controller knows no broker with this node id",
        "Restart the broker, so that it registers; the log of the active controller says why it does not know it.",
    ),
}
"""Errors, each with what it means, and what to do."""
# One finding per address and server. Who is let in later was only early, or came back before its former session ended.
_QUERY = f"""
with tried as (
    select e.client_ip, e.ts_ns, e.request_id, e.conn_id, e.api_name, e.error_name, e.message,
        concat(c.server_ip, ':', c.server_port) as server
    from refusals e join connections c on e.conn_id = c.conn_id
), let_in as (
    select client_ip, api_name, max(ts_ns) as let_in_ns from requests
    where api_name in {_APIS} and status = 'ok' and error_code = 0 and exists (select 1 from tried)
    group by client_ip, api_name
)
select t.client_ip, t.server, count(*) as n, min(t.ts_ns) as first_ns, max(t.ts_ns) as last_ns,
    mode(t.error_name) as error_name, mode(t.api_name) as api_name, max(t.message) as message,
    {first_ids("t.request_id", "t.ts_ns")} as evidence, collect_set(t.conn_id) as conn_ids,
    cast(null as string) as client_instance_id
from tried t left join let_in l on t.client_ip = l.client_ip and t.api_name = l.api_name and l.let_in_ns > t.ts_ns
where l.let_in_ns is null
group by t.client_ip, t.server having count(*) >= {limit.REFUSED_AGAIN}"""


def _sentence(f: Facts) -> str:
    said = f'. The controller said: "{f.message.removesuffix(".")}"' if f.message else ""
    return (
        f"The broker at {f.client_ip} was refused {f.api_name} by {f.server} {times(f.n)} ({f.error_name}: "
        f"{REFUSED[f.error_name][0]}) from {f.begin(f.first_ns)} to {f.at(f.last_ns)}, and did not join the cluster: "
        f"it serves no client{said}"
    )


def _advice(error_names: Collection[str]) -> str:
    return " ".join(dict.fromkeys(REFUSED[name][1] for name in error_names))


RULE = Rule(
    name="registration_refused",
    title="A broker cannot join the cluster",
    severity="error",
    meaning="A broker registers with the active controller before it serves anybody (KRaft). One that is refused tries "
    "again and again, and its clients and replicas miss it; whoever uses other brokers notices nothing.",
    looks_at=f"{', '.join(_APIS)} with {', '.join(REFUSED)}, {limit.REFUSED_AGAIN} times or more from one address "
    "to one server, and none that was accepted later.",
    advice=_advice(REFUSED),
    sources=("KIP-595", "KIP-631", "org.apache.kafka.controller.ClusterControlManager"),
    detectors=(
        Detector(
            reads={"refusals": Where(ERRORS, error_name=tuple(REFUSED), api_name=_APIS)},
            query=_QUERY,
            subject=fact("client_ip"),
            sentence=_sentence,
            advice=lambda f: _advice([f.error_name]),
        ),
    ),
)
