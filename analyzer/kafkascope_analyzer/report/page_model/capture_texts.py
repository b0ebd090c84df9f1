"""The capture in words: the page's title, the line under it, and sentences about what could not be read."""

from dataclasses import dataclass, replace
from pathlib import Path

from kafkascope_analyzer.report.formatting import count, percent, span
from kafkascope_analyzer.report.model.capture import ByteTotals, Capture
from kafkascope_analyzer.report.model.data_quality import doubts
from kafkascope_analyzer.report.model.traffic import Traffic
from kafkascope_analyzer.report.plain import arguments_of


@dataclass(frozen=True, slots=True)
class WordedCapture(Capture):
    """The capture with its words. origin: the time from which all others are counted."""

    title: str
    facts: tuple[str, ...]
    unread: tuple[str, ...]
    dataset: str
    origin: str


def capture_facts(model: Traffic) -> tuple[str, ...]:
    """Returns when the capture began, its length, packets, connections and requests, how much of Kafka's bytes was
    decoded, and facts about the cluster."""
    capture, ledger = model.capture, model.capture.ledger
    facts = [
        capture.start,
        span(capture.duration_us),
        capture.packets,
        count(model.connections.n, "connection"),
        count(model.n_requests, "request"),
        ledger and _decoded(ledger),
        model.cluster.sentence,
    ]
    return tuple(fact for fact in facts if fact)


def _decoded(ledger: ByteTotals) -> str:
    whole = ledger.kafka_bytes
    return f"{percent(ledger.decoded_bytes, whole)} decoded" if whole else "no stream bytes"


def unread_texts(model: Traffic, capture: Capture) -> tuple[str, ...]:
    """Returns sentences about the clocks of the times and about what the capture does not show; last, about
    TCP events."""
    texts = (*model.capture_points.sentences, *doubts(model.unread, capture))
    events = [f"{row.n:,} {row.event.replace('_', ' ')}" for row in model.unread.tcp_events]
    return (*texts, f"TCP: {', '.join(events)}") if events else texts


def worded_capture(model: Traffic, dataset_name: str) -> WordedCapture:
    """Returns the capture for the page. Of its files' paths it has only the names, because a report is
    shown to others."""
    files = tuple(replace(file, path=Path(file.path or "").name) for file in model.capture.files)
    capture = replace(model.capture, files=files)
    return WordedCapture(
        **arguments_of(capture),
        title=_title(capture, dataset_name),
        facts=capture_facts(model),
        unread=unread_texts(model, capture),
        dataset=dataset_name,
        origin=str(capture.begin_ns),
    )


def _title(capture: Capture, dataset_name: str) -> str:
    """Returns the capture's name: its file's name; with several files, or none with a name, the dataset's; then the
    cluster, where the page is about one of several."""
    names = [file.path or "" for file in capture.files]
    name = names[0] if len(names) == 1 and names[0].strip("-") else dataset_name.removesuffix(".kscope")
    of = capture.of_cluster
    return name if of is None else f"{name}: cluster {of.cluster}, {of.place}"
