"""The capture in words: the line under the page's title, and what could not be read."""

from kafkascope_analyzer.report.formatting import count, percent, span
from kafkascope_analyzer.report.model.capture import Capture
from kafkascope_analyzer.report.model.data_quality import doubts
from kafkascope_analyzer.report.model.traffic import Traffic


def capture_facts(model: Traffic, n_requests: int) -> tuple[str, ...]:
    """When it began, how long it is, its packets, connections and requests, how much of Kafka's bytes was decoded, and
    what the cluster is."""
    capture, ledger = model.capture, model.capture.ledger
    kafka_bytes = ledger.kafka_bytes
    facts = [
        capture.start,
        span(capture.duration_us),
        count(capture.n_packets, "packet"),
        count(model.connections.n, "connection"),
        count(n_requests, "request"),
        f"{percent(ledger.decoded_bytes, kafka_bytes)} decoded" if kafka_bytes else "no stream bytes",
        model.cluster.sentence,
    ]
    return tuple(fact for fact in facts if fact)


def unread_texts(model: Traffic, capture: Capture) -> tuple[str, ...]:
    """Whose clocks the times are by and what the capture could not show, in sentences; last, what TCP did."""
    texts = (*model.capture_points.sentences, *doubts(model.unread, capture))
    events = [f"{row.n:,} {row.event.replace('_', ' ')}" for row in model.unread.tcp_events]
    return (*texts, f"TCP: {', '.join(events)}") if events else texts
