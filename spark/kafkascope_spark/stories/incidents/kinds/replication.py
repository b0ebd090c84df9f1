"""Brokers that did not reach each other, or between which packets were lost.

Looks at connections between brokers, on which followers fetch, and at the requests that clients waited for at that
time: with acks=all a leader waits for its in-sync replicas. Could be confused with a follower that is down or frozen,
which serves nobody else either. Proved by clients that both brokers served at that time.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, LINK_COUNTERS, QUEUES, named, under_replicated


def _sentence(failure: Failure, times: Times) -> str:
    nodes = {row.server_ip: row.node_id for row in failure.states if row.node_id is not None}
    hosts = [f"node {nodes[host]} ({host})" if host in nodes else host for host in sorted(failure.hosts)]
    both = f"{named(failure)} and {listed(hosts)}"
    if failure.is_lossy:
        lost = f"Packets between {failure.subject} and {listed(hosts)} were lost {times.of(failure)}"
        return f"{lost}: the same bytes had to be sent several times, so that followers fetched late from their leaders"
    return f"{both} did not reach each other {times.of(failure)}, while the broker served other hosts"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if failure.is_lossy:
        yield network(
            f"Look for what drops packets between {listed(sorted(failure.hosts))} and {failure.server}: errors and "
            f"drops of network interfaces ({LINK_COUNTERS}), {QUEUES}."
        )
    else:
        yield network(f"Look at the network between the brokers: they did not reach each other at {failure.server}.")
    yield brokers(
        "A lower replica.lag.time.max.ms of the brokers (default 30000) lets a leader drop a replica that does not "
        f"fetch sooner. What lacks replicas: {under_replicated(observed)}; what takes no writes with acks=all: "
        f"kafka-topics.sh {observed.tool} --describe --under-min-isr-partitions."
    )


REPLICATION = Kind(
    "replication",
    "replication path failed",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="replication",
    between_brokers=True,
    cuts_clients=True,
)
