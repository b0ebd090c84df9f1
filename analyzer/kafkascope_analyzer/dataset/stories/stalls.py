"""`stalls`: who was not served, from when to when."""

from kafkascope_analyzer.dataset.contract import Table, flag, i32, i64, text, texts, time

STALL_KINDS = ("produce", "consume", "commit", "membership", "transaction", "metadata")

STALLS = Table(
    "stalls",
    "wait of a client or group for a service of the cluster, at least as long as --stall says (1 s)",
    (
        text("stall_id", "the stall: the same for the same capture"),
        text(
            "kind",
            "the service: produce (records waited to be accepted), consume (accepted records waited to be fetched), "
            "commit (of offsets), membership (a place in the group), transaction, metadata",
            *STALL_KINDS,
        ),
        text("client_instance_id", "client that waited; of a group's partition, the member that read it next or last"),
        text("client_ip", "address of that client"),
        text("client_id", "its client id"),
        text("group_id", "group that waited; null where no group did"),
        text("transactional_id", "transactional id that waited; null where none did"),
        text("topic", "topic; null where the wait is not about one"),
        i32("partition", "partition; null where the wait is not about one"),
        i32("node_id", "broker that was waited on first; null where the capture does not show it"),
        *time("from", "since when it waited"),
        *time("to", "when the wait ended; null where it still waited at the end of the capture"),
        flag(
            "served",
            "whether it was served again then; false where the client gave up or ended before; null where it still "
            "waited at the end of the capture, or where no file covers the time from then on",
        ),
        i64("waited_ms", "how long it waited, or had waited at the end of the capture, milliseconds"),
        i64("n_attempts", "requests that were sent for it meanwhile; null for consume"),
        texts("error_names", "errors that they got, sorted"),
        text("incident_id", "incident that it belongs to"),
        texts("evidence", "request ids that prove it, in order of time; at most 32"),
    ),
)
