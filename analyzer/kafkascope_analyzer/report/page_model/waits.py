"""Stalls as the bands that the page draws on the lanes of clients, and the states of brokers, with their words."""

from dataclasses import dataclass

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.formatting import clock, span
from kafkascope_analyzer.report.model.incidents.broker_lanes import BrokerLane, Stretch, broker_lanes
from kafkascope_analyzer.report.model.incidents.waits import wait_text
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.stalls.table import Stall

MOST_STALLS = 5_000


@dataclass(frozen=True, slots=True)
class StallBand:
    """A stall. to_ns: None where it is not over."""

    client_instance_id: str | None
    node_id: int | None
    from_ns: int
    to_ns: int | None
    waited_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class WordedStretch(Stretch):
    """A span of time in one state, with its times in words."""

    begun: str
    ended: str
    lasted: str


@dataclass(frozen=True, slots=True)
class WordedLane:
    """The lane of a broker."""

    label: str
    short_label: str
    serving: tuple[WordedStretch, ...]
    failing: tuple[WordedStretch, ...]
    outcome: str
    in_short: str


def load_stalls(dataset: Dataset) -> tuple[StallBand, ...]:
    """Loads the stalls by time; where there are too many, the longest."""
    found = sorted(read(dataset, Stall), key=lambda row: (-row.waited_ms, row.stall_id))
    chosen = sorted(found[:MOST_STALLS], key=lambda row: (row.from_ns, row.stall_id))
    return tuple(
        StallBand(
            row.client_instance_id, row.node_id, row.from_ns, row.to_ns, row.waited_ms, f"waited {wait_text(row)}"
        )
        for row in chosen
    )


def lanes_of_brokers(dataset: Dataset, start_ns: int, end_ns: int) -> tuple[WordedLane, ...]:
    """Returns the lanes of brokers. start_ns, end_ns: the capture's start and end."""

    def worded(stretch: Stretch) -> WordedStretch:
        to_ns = stretch.to_ns
        return WordedStretch(
            state=stretch.state,
            from_ns=stretch.from_ns,
            to_ns=to_ns,
            hosts=stretch.hosts,
            text=stretch.text,
            begun=clock(stretch.from_ns - start_ns),
            ended="the end of the capture" if to_ns is None else clock(to_ns - start_ns),
            lasted=span(((end_ns if to_ns is None else to_ns) - stretch.from_ns) // 1000),
        )

    def lane(known: BrokerLane) -> WordedLane:
        stretches = tuple(map(worded, known.serving)), tuple(map(worded, known.failing))
        return WordedLane(known.label, known.short_label, *stretches, *known.state)

    return tuple(map(lane, broker_lanes(dataset)))
