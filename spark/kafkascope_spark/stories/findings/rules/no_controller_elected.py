"""`no_controller_elected`: controllers ask each other for votes again and again, and none becomes the leader."""

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import all_of, count, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import counted, listed, times

_LED = ("BeginQuorumEpoch", "Fetch", "BrokerHeartbeat", "BrokerRegistration", "AlterPartition")
"""What succeeds at a controller only while there is a leader."""
_VOTES = Where(REQUESTS, api_name="Vote")
# One finding a cluster: the requests for votes since a leader was last seen at one of the addresses that were asked.
_QUERY = f"""
with asked as (
    select distinct server_ip, server_port from votes
), led as (
    select max(ts_ns) as last_ns from requests left semi join asked using (server_ip, server_port)
    where api_name in {_LED} and status = 'ok' and n_errors = 0
), since as (
    select v.* from votes v cross join led where v.ts_ns > coalesce(led.last_ns, 0)
)
select count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns, count_if(status = 'ok') as n_answered,
    array_sort(collect_set(client_ip)) as candidates, {first_ids()} as evidence, collect_set(conn_id) as conn_ids,
    cast(null as string) as client_instance_id
from since having count(*) >= {limit.VOTES} and max(ts_ns) - min(ts_ns) >= {limit.WITHOUT_LEADER_S} * 1000000000L"""


def _sentence(f: Facts) -> str:
    answered = f"{f.n_answered} were answered" if f.n_answered else "nobody answered"
    return (
        f"{counted(len(f.candidates), 'controller')} ({listed(f.candidates)}) asked for votes {times(f.n)} from "
        f"{f.begin(f.first_ns)} to {f.at(f.last_ns)}, {answered}, and none was elected: there is no active controller, "
        "so no leader moves, no topic is made, and no broker can register"
    )


RULE = Rule(
    name="no_controller_elected",
    title="No controller is elected",
    severity="error",
    meaning="The controllers of KRaft elect one of them as the leader of the metadata log. Without it brokers go on "
    "with what they know: no partition gets another leader, nobody joins, nothing is created.",
    looks_at=f"Vote, {limit.VOTES} times or more for {limit.WITHOUT_LEADER_S} s or longer, with none of "
    f"{', '.join(_LED)} "
    "that succeeded at these controllers since.",
    advice="See the log of each controller: why it rejects the others (an older log, another cluster id, other "
    "voters), or does not hear of them. All have to name the same voters (controller.quorum.voters, or the voters of "
    "the metadata log with kafka-metadata-quorum.sh --bootstrap-controller HOST:PORT describe --status), to reach "
    "each other at these addresses, and more than half of them have to be up. Do not format a controller anew while "
    "it may be the one with the longest log: what only it has is lost.",
    sources=("KIP-595", "KIP-996", "org.apache.kafka.raft.KafkaRaftClient"),
    detectors=(
        Detector(
            reads={
                "votes": _VOTES,
                "votes_at_all": Groups(
                    _VOTES,
                    per=("api_name",),
                    having=all_of(
                        count() >= limit.VOTES,
                        largest("ts_ns") - smallest("ts_ns") >= limit.WITHOUT_LEADER_S * 1_000_000_000,
                    ),
                ),
            },
            query=_QUERY,
            subject=lambda f: listed(f.candidates),
            sentence=_sentence,
        ),
    ),
)
