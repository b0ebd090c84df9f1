"""`access_denied`: an ACL refused a client's request."""

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.sql import first_ids, sorted_set
from kafkascope_spark.stories.findings.wording import client, times

DENIED = (
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
)
# One finding per client, error and resource. ACLs are per topic, so the partition in the error does not matter.
_QUERY = f"""
select client_instance_id, client_id, client_ip, principal, error_name, denied as resource,
    count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns, {first_ids()} as evidence,
    collect_set(conn_id) as conn_ids, {sorted_set("api_name")} as apis
from (
    select e.*, o.client_instance_id, o.principal,
        if(error_name = 'TOPIC_AUTHORIZATION_FAILED', coalesce(topic, resource), resource) as denied
    from refusals e left join connection_clients o on e.conn_id = o.conn_id
)
group by client_instance_id, client_id, client_ip, principal, error_name, denied"""


def _sentence(f: Facts) -> str:
    principal = f", principal {f.principal}," if f.principal is not None else ""
    return (
        f"{client(f.client_id, f.client_ip)}{principal} was refused {f.resource or 'the cluster'} {times(f.n)} "
        f"({f.error_name}, by {', '.join(f.apis)}), first at {f.begin(f.first_ns)}"
    )


DETECTOR = Detector(
    reads={"refusals": Where(ERRORS, error_name=DENIED)},
    query=_QUERY,
    subject=fact("resource"),
    sentence=_sentence,
)
RULE = Rule(
    name="access_denied",
    title="An ACL refused what a client asked for",
    severity="warning",
    meaning="A broker answered an authorization error. The client cannot correct that by itself: it gives up or asks "
    "again.",
    looks_at="Responses with one of the *_AUTHORIZATION_FAILED errors. The principal is known only if its SASL "
    "mechanism contains it.",
    advice="Grant the principal the operation on the resource (kafka-acls.sh --add), or correct the name that the "
    "client is configured with.",
    sources=("KIP-11", "org.apache.kafka.common.protocol.Errors"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=frozenset({"permission"})),
)
