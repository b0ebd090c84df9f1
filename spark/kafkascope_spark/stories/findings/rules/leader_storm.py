"""`leader_storm`: clients keep sending requests to a broker that is not the leader or coordinator."""

from collections.abc import Collection

from kafkascope_spark.stories.findings.conditions import all_of, any_of, column
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import BEHIND
from kafkascope_spark.stories.findings.sql import joined_lists, sorted_set
from kafkascope_spark.stories.findings.wording import client, duration, listed
from kafkascope_spark.stories.settings import settings
from kafkascope_spark.stories.tables import RECOVERIES

MOVED = (
    "NOT_LEADER_OR_FOLLOWER",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "LEADER_NOT_AVAILABLE",
    "NOT_COORDINATOR",
)
NO_MOVES = frozenset(
    {
        "stale_broker",
        "stale_client",
        "no_leader",
        "no_listener",
        "epoch_ahead",
        "wrong_broker",
        "no_coordinator",
        "coordinator_loading",
    }
)
"""Incidents in which clients repeat requests although nothing moved."""
_OLD_EPOCH = frozenset({"FENCED_LEADER_EPOCH"})
"""Errors for a request to the right broker with the leader epoch of an earlier election."""
_LEADER_MOVED = frozenset({"NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH"})
"""Errors with which brokers return the new leader (KIP-951)."""
# One finding per client. Requests through a proxy in front of several brokers count for the clients of the proxy.
_QUERY = f"""
select * from (
    select client_instance_id, {sorted_set("resource")} as resources, {sorted_set("first_error_name")} as error_names,
        sum(n_errors) as n_errors, greatest(sum(n_errors), sum(n_wasted_requests)) as n,
        min(start_ns) as first_ns, max(coalesce(recovered_ns, start_ns)) as last_ns,
        min(failing_ns) as since_ns, {sorted_set("old_node_id")} as node_ids,
        count_if(recovered_ns is null) as n_open, null as conn_ids,
        max(rediscovered_ns) is null and bool_and(first_error_name = 'NOT_COORDINATOR') as never_looked_up,
        {joined_lists("evidence", "start_ns, recovery_id")} as evidence
    from storms group by client_instance_id
) join (select client_instance_id, client_id, client_ip from clients) using (client_instance_id)
left anti join (
    select server_ip as client_ip from connections where node_id is null and contains(node_id_why, '{BEHIND}')
) using (client_ip)"""


def _sentence(f: Facts) -> str:
    end = "and had not recovered at the end" if f.n_open > 0 else f"for {duration(f.last_ns - f.first_ns)}"
    what = f"got {f.n} errors" if f.n == f.n_errors else f"sent {f.n} requests without success"
    return (
        f"{client(f.client_id, f.client_ip)} {what} ({listed(f.error_names)}) for {listed(f.resources)} "
        f"from {f.begin(f.first_ns)} on, {end}"
    )


_IS_LOOKUP = all_of(column("n_wasted_requests") > column("n_errors"), resource_kind="coordinator")
"""Storms of FindCoordinator: its responses have no error, but contain a coordinator that does not respond."""


def _advice(libraries: Collection[str], error_names: Collection[str] = MOVED, *, never_looked_up: bool = False) -> str:
    """Returns the advice. From Kafka 3.7 on, brokers return the new leader with the error; a new coordinator is never
    returned."""
    if _OLD_EPOCH.issuperset(error_names):
        return _ASK_METADATA
    if never_looked_up:
        return _LOOK_UP
    backoff = f"Raise the client's {settings(('retry_backoff',), libraries, defaults=True)}"
    why = "see why it moved (auto.leader.rebalance.enable of the brokers, a broker that was lost)"
    if _LEADER_MOVED.isdisjoint(error_names):
        return f"{backoff}, and {why}."
    return (
        f"{backoff}, use a client that takes the new leader from the answer (KIP-951: Java 3.7, librdkafka 2.4, with "
        f"brokers of Kafka 3.7 or newer), and {why}."
    )


_ASK_METADATA = (
    "The leader has a later epoch than the client knows, and need not have moved. After this error a client asks for "
    "Metadata, and then with the epoch that Metadata names: restart one that does not, and update its library. Where "
    "Metadata goes on naming the old epoch, look at the broker that answers it. A longer pause between its tries "
    "changes nothing."
)
_LOOK_UP = (
    "Update the client's library, and restart it: after NOT_COORDINATOR a client has to ask FindCoordinator who "
    "coordinates, and this one never did. A longer pause between its tries changes nothing."
)
DETECTOR = Detector(
    reads={"storms": Where(RECOVERIES, any_of(_IS_LOOKUP, first_error_name=MOVED), storm=True)},
    query=_QUERY,
    subject=lambda f: listed(f.resources),
    sentence=_sentence,
    advice=lambda f: _advice(f.libraries, f.error_names, never_looked_up=f.never_looked_up),
)
RULE = Rule(
    name="leader_storm",
    title="A client sends many requests to a broker that is not the leader or coordinator",
    severity="warning",
    meaning="The leader of a topic-partition, or a group's coordinator, is another broker, and the client keeps "
    "sending requests to the wrong one instead of looking it up. Each try costs the broker a request and the "
    "application time. A client that lost its coordinator may ask FindCoordinator again and again without a pause: "
    "until the cluster has noticed the loss, the response contains the lost one.",
    looks_at="Episodes of NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, LEADER_NOT_AVAILABLE "
    "or NOT_COORDINATOR with more than 10 errors in a second, or more than 50; or of a lost coordinator with more than "
    "50 answers to FindCoordinator that did not help. A move of leadership that clients follow within a few errors is "
    "none.",
    advice=f"{_advice(())} After FENCED_LEADER_EPOCH alone: {_ASK_METADATA}",
    sources=("KIP-951", "KIP-580", "org.apache.kafka.clients.Metadata"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=BROKER_FAILURES | MOVES | NO_MOVES),
    unless=("shared_vip",),
)
