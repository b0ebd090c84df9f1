"""`admin_refused`: brokers refuse a request to create or change something."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, times

CHANGES = ("CreateTopics", "CreatePartitions", "AlterConfigs", "IncrementalAlterConfigs", "AlterPartitionReassignments")
_OTHER = "Correct what is asked for: the broker's message says what is wrong with it; the same is refused each time."
_POLICY = (
    "Let it ask for what the policy allows, which the broker's message says: mostly a number of replicas or "
    "partitions. For topics that an application creates for itself it is a setting of its own (replication.factor of "
    "Streams, ksql.internal.topic.replicas, *.storage.replication.factor of Connect); or create the topic for it "
    "beforehand. Operators of the brokers know the policy: create.topic.policy.class.name and "
    "alter.config.policy.class.name."
)
_REPLICAS = (
    "Ask for at most as many replicas as there are brokers alive (replication.factor of Streams, "
    "*.storage.replication.factor of Connect), or start the other brokers."
)
REFUSED = {
    "POLICY_VIOLATION": ("a policy of the brokers forbids it", _POLICY),
    "INVALID_REPLICATION_FACTOR": ("there are fewer brokers than replicas", _REPLICAS),
    "INVALID_CONFIG": ("a setting has a name or value that brokers do not take", _OTHER),
    "INVALID_PARTITIONS": ("such a number of partitions cannot be", _OTHER),
    "INVALID_REPLICA_ASSIGNMENT": ("replicas cannot be on these brokers", _OTHER),
    "INVALID_TOPIC_EXCEPTION": ("no topic can have such a name", _OTHER),
}
"""Errors, each with its meaning and the advice."""
# One finding per client id, address, API and error: a program that is restarted again and again is a new client each
# time.
_QUERY = f"""
with tried as (
    select e.*, coalesce(e.topic, e.resource) as name, o.client_instance_id, o.software_name
    from refusals e left join connection_clients o on e.conn_id = o.conn_id
    where {NO_BROKER}
), took as (
    select r.client_id, r.client_ip, r.api_name from requests r
    where r.api_name in {CHANGES} and r.n_errors = 0 and exists (select 1 from tried)
    group by r.client_id, r.client_ip, r.api_name
)
select t.client_id, t.client_ip, t.api_name, t.error_name, count(*) as n, min(t.ts_ns) as first_ns,
    max(t.ts_ns) as last_ns, min_by(t.name, struct(t.ts_ns, t.request_id)) as name, count(distinct t.name) as n_names,
    max(t.message) as message, {first_ids("t.request_id", "t.ts_ns")} as evidence, collect_set(t.conn_id) as conn_ids,
    if(count(distinct t.client_instance_id) = 1, min(t.client_instance_id), null) as client_instance_id,
    array_sort(collect_set(t.software_name)) as software_names,
    if(count(*) >= {limit.REFUSED_AGAIN} and max(took.api_name) is null, 'error', 'warning') as severity
from tried t left join took on t.client_id <=> took.client_id and t.client_ip = took.client_ip
    and t.api_name = took.api_name
group by t.client_id, t.client_ip, t.api_name, t.error_name"""


def _sentence(f: Facts) -> str:
    more = f" and {f.n_names - 1} more" if f.n_names > 1 else ""
    said = f'. The broker said: "{f.message.removesuffix(".")}"' if f.message else ""
    return (
        f"{client(f.client_id, f.client_ip)} was refused {f.api_name} for {f.name or 'something'}{more} {times(f.n)} "
        f"({f.error_name}: {REFUSED[f.error_name][0]}) from {f.begin(f.first_ns)} to {f.at(f.last_ns)}{said}"
    )


def _advice(error_names: Collection[str]) -> str:
    return " ".join(dict.fromkeys(REFUSED[name][1] for name in error_names))


RULE = Rule(
    name="admin_refused",
    title="Brokers refuse to create or change something",
    severity="warning",
    meaning="A request to create a topic or to change settings was well formed, but brokers did not carry it out. An "
    "application that creates topics for itself does not start then, and may be started again and again.",
    looks_at=f"{', '.join(CHANGES)} with one of these errors: {', '.join(REFUSED)}. An error where a client was "
    f"refused {limit.REFUSED_AGAIN} times or more, and never got what it asked for by that API.",
    advice=_advice(REFUSED),
    sources=("KIP-108", "KIP-133", "org.apache.kafka.common.errors.PolicyViolationException"),
    detectors=(
        Detector(
            reads={"refusals": Where(ERRORS, error_name=tuple(REFUSED), api_name=CHANGES)},
            query=_QUERY,
            subject=fact("name"),
            sentence=_sentence,
            advice=lambda f: _advice([f.error_name]),
        ),
    ),
)
