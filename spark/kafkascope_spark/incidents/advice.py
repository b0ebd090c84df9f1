"""What to change about an incident: complete commands and settings."""

import shlex

from kafkascope_spark.incidents.failure import Failure
from kafkascope_spark.incidents.permissions import grants, topic_of


def advice_for(failure: Failure) -> str:
    """What to change."""
    commands = grants(failure.recoveries)
    if failure.kind == "permission" and commands:
        return f"Grant what was denied: {'; '.join(commands)}"
    return _ADVICE[failure.kind].format(
        node=failure.node_id if failure.node_id is not None else "NODE",
        server=failure.server or "BROKER:9092",
        hosts=", ".join(sorted(failure.hosts)),
        subject=failure.subject,
        topic=shlex.quote(topic_of(failure.subject)),
    )


_FASTER = (
    "Clients notice a silent broker sooner with lower request.timeout.ms (librdkafka: socket.timeout.ms) and "
    "socket.connection.setup.timeout.ms."
)
_ADVICE = {
    "broker_down": (
        "Look at the log of {subject} and at its host for that time. If it was restarted on purpose, restart brokers "
        "one at a time with controlled.shutdown.enable=true, and wait until no partition is under-replicated: "
        "kafka-topics.sh --bootstrap-server BROKER:9092 --describe --under-replicated-partitions"
    ),
    "broker_silent": (
        "Look at the host and the network of {subject} for that time: link, power, hypervisor, firewall. A lower "
        "replica.lag.time.max.ms lets leaders drop a silent replica sooner, a lower broker.session.timeout.ms moves "
        "its leaders sooner. " + _FASTER
    ),
    "broker_frozen": (
        "Look at the process of {subject} for that time: a long garbage collection (-Xlog:gc*), a disk that does not "
        "respond (iostat -x 1), swapping, a stopped container or virtual machine. " + _FASTER
    ),
    "broker_slow": (
        "Look at the load of {subject} for that time: disk (iostat -x 1), request queue and handler threads "
        "(RequestQueueTimeMs, RequestHandlerAvgIdlePercent; num.io.threads, num.network.threads)."
    ),
    "path": (
        "Look at what lies between {hosts} and {server}: firewall rules, security groups, NAT, routes. The broker "
        "itself worked. " + _FASTER
    ),
    "replication": (
        "Look at the network between the brokers: they did not reach each other at {server}. A lower "
        "replica.lag.time.max.ms lets a leader drop a replica that does not fetch sooner; see kafka-topics.sh "
        "--bootstrap-server BROKER:9092 --describe --under-replicated-partitions"
    ),
    "listener": (
        "Check that {server} is what brokers should advertise (advertised.listeners), and that clients can reach it: "
        "kafka-broker-api-versions.sh --bootstrap-server {server}"
    ),
    "leader_move": (
        "None, if leaders were moved on purpose. Clients notice sooner with lower metadata.max.age.ms and "
        "retry.backoff.ms."
    ),
    "coordinator_move": "None, if brokers were restarted on purpose. Large groups load sooner on fewer partitions.",
    "member": (
        "Let consumers leave (close()) when they stop. A lower session.timeout.ms (group.consumer.session.timeout.ms "
        "on brokers for the consumer protocol) hands the partitions of a dead member over sooner; with "
        "group.instance.id and partition.assignment.strategy=CooperativeStickyAssignor the others read on meanwhile."
    ),
    "permission": (
        "Check user name, password and mechanism of these clients ({subject}): kafka-configs.sh --bootstrap-server "
        "BROKER:9092 --describe --entity-type users lists the users that brokers know by SCRAM."
    ),
    "missing_topic": (
        "Create the topic, or correct its name: kafka-topics.sh --bootstrap-server BROKER:9092 --create --topic {topic}"
    ),
    "quota": (
        "Raise the quota, or send less: kafka-configs.sh --bootstrap-server BROKER:9092 --describe --entity-type "
        "clients"
    ),
    "unexplained": "Look at the brokers' logs for that time; capture the traffic between brokers too.",
}
