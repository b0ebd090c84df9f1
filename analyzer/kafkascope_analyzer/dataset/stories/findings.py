"""`findings`: what is wrong, how sure that is, and what to change."""

from kafkascope_analyzer.dataset.contract import Table, i64, text, texts, time

SEVERITIES = ("info", "warning", "error")

FINDINGS = Table(
    "findings",
    "diagnosis",
    (
        text("finding_id", "the diagnosis: the same for the same capture"),
        text("rule", "rule that found it: `kafkascope rules` lists them"),
        text("severity", "how bad: error (broken), warning (will break, or costs), info (worth knowing)", *SEVERITIES),
        text("sentence", "what was found: subject, number, time"),
        text("advice", "what to change: the setting, and its value where the wire shows it"),
        text("client_instance_id", "client that it is about; null where it is about none or several"),
        texts("conn_ids", "connections that it is about, sorted; at most 100"),
        text("subject", "what it is about: an address, group, topic-partition, transactional id, broker, ..."),
        i64("n", "how many times it was seen"),
        *time("first", "first of them"),
        *time("last", "last of them"),
        text("incident_id", "incident that it is a consequence of; null where it stands alone"),
        texts("evidence", "request ids (else conn_ids) that prove it, in order of time; at most 100"),
    ),
)
