"""The kinds of incidents by name, in the order of the reference page. A name is that of a module of
kafkascope_spark.stories.incidents.kinds, which says everything else about the kind."""

INCIDENT_KINDS = (
    "cluster_down",
    "broker_down",
    "broker_silent",
    "broker_frozen",
    "broker_slow",
    "zookeeper_session",
    "client_host",
    "path",
    "mtu",
    "dead_flow",
    "replication",
    "listener",
    "not_accepting",
    "connection_limit",
    "dns",
    "stale_broker",
    "stale_client",
    "leader_move",
    "coordinator_move",
    "member",
    "member_fenced",
    "quota",
    "permission",
    "missing_topic",
    "recreated_topic",
    "client",
    "slow_consumer",
    "client_died",
    "lost_records",
    "unexplained",
)
CLIENT_FAULTS = {
    "stalled": "client paused",
    "wrong_protocol": "client speaks the wrong protocol",
    "auth_failed": "client not authenticated",
    "before_login": "client sends requests before it authenticates",
}
"""What was wrong with clients that failed themselves, with what reports call it."""
