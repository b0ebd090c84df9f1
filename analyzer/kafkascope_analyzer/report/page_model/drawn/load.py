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
from kafkascope_analyzer.report.model.latency_over_time import BrokerOverTime, LatencyOverTime, LatencySlot
from kafkascope_analyzer.report.model.leader_load import LeaderLoad, Leaders
from kafkascope_analyzer.report.model.racks import CrossRackBytes, RackReader, Racks
from kafkascope_analyzer.report.model.removed_versions import RemovedUse, RemovedVersions
from kafkascope_analyzer.report.model.request_rates import FamilyRates, RateSlot, RequestRates
from kafkascope_analyzer.report.model.security import Security, WayIn
from kafkascope_analyzer.report.model.service_levels import ServiceLevel, ServiceLevels
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
    """Latency of each broker for each API."""

    SOURCE: ClassVar[type] = BrokerLatency
    n: int
    listed: tuple[LatencyPair, ...]


@dataclass(frozen=True, slots=True)
class PageBrokerOverTime(Part):
    """Latency of a broker for clients over the capture."""

    SOURCE: ClassVar[type] = BrokerOverTime
    node_id: int
    slots: tuple[LatencySlot, ...]


@dataclass(frozen=True, slots=True)
class PageLatencyOverTime(Part):
    """Latency of each broker for clients over the capture."""

    SOURCE: ClassVar[type] = LatencyOverTime
    slot_text: str
    n: int
    listed: tuple[PageBrokerOverTime, ...]


@dataclass(frozen=True, slots=True)
class PageLeaderLoad(Part):
    """Bytes and requests that clients wrote to and read from a broker."""

    SOURCE: ClassVar[type] = LeaderLoad
    node_id: int
    n_partitions: int
    n_produce: int
    produce_bytes: int
    n_fetch: int
    fetch_bytes: int


@dataclass(frozen=True, slots=True)
class PageLeaders(Part):
    """Load of the partition leaders, and how evenly they share it."""

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
    """Produce and Fetch traffic of a client."""

    SOURCE: ClassVar[type] = ClientTraffic
    client_ip: str | None
    client_id: str | None
    produce: PageProduceTraffic | None
    fetch: PageFetchTraffic | None


@dataclass(frozen=True, slots=True)
class PageAllClientTraffic(Part):
    """Produce and Fetch traffic of each client (address and client id)."""

    SOURCE: ClassVar[type] = AllClientTraffic
    n: int
    listed: tuple[PageClientTraffic, ...]


@dataclass(frozen=True, slots=True)
class PageServiceLevel(Part):
    """The service level of a topic and a group that reads it."""

    SOURCE: ClassVar[type] = ServiceLevel
    topic: str
    group_id: str | None
    n_minutes: int
    n_minutes_stalled: int
    available_percent: float
    acked_p50_us: int | None
    acked_p99_us: int | None
    fetched_p50_us: int | None
    fetched_p99_us: int | None
    lag_max: int | None
    lag_last: int | None


@dataclass(frozen=True, slots=True)
class PageServiceLevels(Part):
    """Service levels by topic and group."""

    SOURCE: ClassVar[type] = ServiceLevels
    n: int
    listed: tuple[PageServiceLevel, ...]


@dataclass(frozen=True, slots=True)
class PageCrossRackBytes(Part):
    """Bytes of connections between a client in one rack and brokers in another."""

    SOURCE: ClassVar[type] = CrossRackBytes
    client_rack: str
    broker_rack: str
    by_broker: bool
    client_id: str | None
    client_ip: str | None
    bytes_sent: int
    bytes_received: int


@dataclass(frozen=True, slots=True)
class PageRackReader(Part):
    """A consumer that sends its rack (client.rack)."""

    SOURCE: ClassVar[type] = RackReader
    client_id: str | None
    client_ip: str | None
    rack: str
    bytes_inside: int
    bytes_outside: int
    what: str


@dataclass(frozen=True, slots=True)
class PageRacks(Part):
    """Bytes between racks."""

    SOURCE: ClassVar[type] = Racks
    present: bool
    bytes: int
    n: int
    listed: tuple[PageCrossRackBytes, ...]
    n_readers: int
    readers: tuple[PageRackReader, ...]


@dataclass(frozen=True, slots=True)
class PageWayIn(Part):
    """Connections of a client id from an address with the same transport and authentication."""

    SOURCE: ClassVar[type] = WayIn
    transport: str
    tls_version: str | None
    sasl_mechanism: str | None
    principal: str | None
    client_id: str | None
    client_ip: str | None
    n_connections: int
    n_failed_logins: int
    n_denied: int
    denied: tuple[str, ...]
    weak: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageSecurity(Part):
    """How clients connect and authenticate."""

    SOURCE: ClassVar[type] = Security
    n: int
    n_plain_text: int
    n_denied: int
    n_failed_logins: int
    listed: tuple[PageWayIn, ...]


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
    """Clients that use API versions that Kafka 4.0 removed (KIP-896)."""

    SOURCE: ClassVar[type] = RemovedVersions
    n: int
    listed: tuple[PageRemovedUse, ...]
