"""`incidents`: one thing that failed, with everything that followed from it."""

from kafkascope_analyzer.dataset.contract import Table, i32, i64, text, texts, time
from kafkascope_analyzer.dataset.stories.findings import SEVERITIES

INCIDENT_KINDS = (
    "broker_down",
    "broker_silent",
    "broker_frozen",
    "broker_slow",
    "zookeeper_session",
    "path",
    "replication",
    "listener",
    "leader_move",
    "coordinator_move",
    "member",
    "quota",
    "permission",
    "missing_topic",
    "client",
    "unexplained",
)

CLIENT_FAULTS = ("stood_still", "wrong_protocol", "auth_failed")

INCIDENTS = Table(
    "incidents",
    "thing that failed, with what followed from it",
    (
        text("incident_id", "the incident: the same for the same capture"),
        text("kind", "what failed", *INCIDENT_KINDS),
        text(
            "client_fault",
            "of kind client, what was wrong with it: stood_still (its process sent nothing), wrong_protocol (it speaks "
            "another protocol than the listener), auth_failed (it did not authenticate, or was refused)",
            *CLIENT_FAULTS,
        ),
        i32("node_id", "broker that failed; null where none did, or the capture does not show which"),
        texts(
            "hosts",
            "hosts that were cut from the broker, sorted; empty where everybody was; of kind client, the clients' own",
        ),
        text("subject", "what failed, in words: node 2 (10.0.0.2:9092), group orders, ..."),
        *time("start", "when it failed"),
        *time(
            "end", "when the last of those who stood still was served again, gave up or ended; null: one still waited"
        ),
        text("root_incident_id", "incident that it followed from; null where it followed from none"),
        text(
            "severity",
            "error: somebody stood still for 10 s or more, or was never served; warning: somebody stood still; info: "
            "nobody stood still",
            *SEVERITIES,
        ),
        text("sentence", "what failed, from when to when, and how the packets show it"),
        text("advice", "what to change, with the values that were seen"),
        texts("clients", "client instances that stood still or had to recover, sorted"),
        i64("n_stalls", "stalls that belong to it"),
        texts(
            "earlier_stalls",
            "stalls (stall_id) of earlier incidents that went on while this one did not serve their client, sorted",
        ),
        i64("longest_ms", "the longest of them, milliseconds"),
        text("how_known", "what in the capture shows it"),
        texts("evidence", "request ids (else conn_ids) that prove it, in order of time; at most 100"),
    ),
)
