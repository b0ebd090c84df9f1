"""Requests and load: rates, latency, leaders, clients' traffic, removed versions."""

from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.report.model.broker_latency import BrokerLatency, LatencyPair
from kafkascope_analyzer.report.model.client_traffic import (
    AllClientTraffic,
    ClientTraffic,
    FetchTraffic,
    ProduceTraffic,
)
from kafkascope_analyzer.report.model.leader_load import LeaderLoad, Leaders
from kafkascope_analyzer.report.model.removed_versions import RemovedUse, RemovedVersions
from kafkascope_analyzer.report.model.request_rates import FamilyRates, RateSlot, RequestRates
from kafkascope_analyzer.report.page_model.drawn.part import Part


@dataclass(frozen=True, slots=True)
class PageFamilyRates(Part):
    """Requests of a family of APIs over the capture."""

    SOURCE: ClassVar[type] = FamilyRates
    family: str
    title: str
    short_title: str
    most_per_second: float
    most_p99_ms: float | None
    text: str
    slots: tuple[RateSlot, ...]


@dataclass(frozen=True, slots=True)
class PageRequestRates(Part):
    """Requests over the capture, by family of APIs."""

    SOURCE: ClassVar[type] = RequestRates
    slot_text: str
    families: tuple[PageFamilyRates, ...]


@dataclass(frozen=True, slots=True)
class PageBrokerLatency(Part):
    """How fast each broker answered each API."""

    SOURCE: ClassVar[type] = BrokerLatency
    n: int
    listed: tuple[LatencyPair, ...]


@dataclass(frozen=True, slots=True)
class PageLeaderLoad(Part):
    """What clients wrote to and read from a broker."""

    SOURCE: ClassVar[type] = LeaderLoad
    node_id: int
    n_partitions: int
    n_produce: int
    produce_bytes: int
    n_fetch: int
    fetch_bytes: int


@dataclass(frozen=True, slots=True)
class PageLeaders(Part):
    """How evenly partition leaders share the load."""

    SOURCE: ClassVar[type] = Leaders
    skew: float | None
    listed: tuple[PageLeaderLoad, ...]


@dataclass(frozen=True, slots=True)
class PageProduceTraffic(Part):
    """Produce requests of a client."""

    SOURCE: ClassVar[type] = ProduceTraffic
    n: int
    n_records: int
    records_a_request: float | None
    bytes_a_batch: int | None
    acks: dict[str, int]
    codecs: dict[str, int]


@dataclass(frozen=True, slots=True)
class PageFetchTraffic(Part):
    """Fetch and ShareFetch requests of a client."""

    SOURCE: ClassVar[type] = FetchTraffic
    n: int
    n_records: int
    records_a_request: float | None
    n_empty: int
    max_wait_ms: int | None


@dataclass(frozen=True, slots=True)
class PageClientTraffic(Part):
    """How a client sends and fetches."""

    SOURCE: ClassVar[type] = ClientTraffic
    client_ip: str | None
    client_id: str | None
    produce: PageProduceTraffic | None
    fetch: PageFetchTraffic | None


@dataclass(frozen=True, slots=True)
class PageAllClientTraffic(Part):
    """How each client (address and client id) sends and fetches."""

    SOURCE: ClassVar[type] = AllClientTraffic
    n: int
    listed: tuple[PageClientTraffic, ...]


@dataclass(frozen=True, slots=True)
class PageRemovedUse(Part):
    """A client's use of a version that Kafka 4.0 does not have."""

    SOURCE: ClassVar[type] = RemovedUse
    client_ip: str | None
    client_id: str | None
    api_name: str | None
    api_version: int
    n: int
    first_ns: int
    software_name: str | None
    software_version: str | None
    lowest_in_4_0: int | None


@dataclass(frozen=True, slots=True)
class PageRemovedVersions(Part):
    """Who uses API versions that Kafka 4.0 removed (KIP-896)."""

    SOURCE: ClassVar[type] = RemovedVersions
    n: int
    listed: tuple[PageRemovedUse, ...]
