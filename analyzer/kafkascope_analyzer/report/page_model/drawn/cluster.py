"""The cluster: its brokers, what changed, their restarts and the states of their lanes."""

from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.report.model.cluster import Broker, Cluster
from kafkascope_analyzer.report.model.restarts import Restart, Restarts
from kafkascope_analyzer.report.model.topology import TopologyBroker
from kafkascope_analyzer.report.page_model.cluster_story import BrokerPresence, ClusterStory, Owner, WordedChange
from kafkascope_analyzer.report.page_model.drawn.part import Part
from kafkascope_analyzer.report.page_model.waits import WordedLane, WordedStretch


@dataclass(frozen=True, slots=True)
class PageBroker(Part):
    """A broker."""

    SOURCE: ClassVar[type] = Broker
    node_id: int
    addresses: tuple[str, ...]
    advertised: tuple[str, ...]
    rack: str | None
    n_connections: int
    n_requests: int | None
    n_errors: int | None


@dataclass(frozen=True, slots=True)
class PageCluster(Part):
    """The brokers."""

    SOURCE: ClassVar[type] = Cluster
    brokers: tuple[PageBroker, ...]


@dataclass(frozen=True, slots=True)
class PageTopologyBroker(Part):
    """A node with its advertised addresses, its servers' addresses and its connections."""

    SOURCE: ClassVar[type] = TopologyBroker
    node_id: int
    rack: str | None
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageChange(Part):
    """A change with its sentence."""

    SOURCE: ClassVar[type] = WordedChange
    api_name: str | None
    packet_no: int | None
    ts_ns: int
    kind: str
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class PageClusterStory(Part):
    """The brokers, their changes, and the leaders and coordinators over time."""

    SOURCE: ClassVar[type] = ClusterStory
    brokers: tuple[PageTopologyBroker, ...]
    n_changes: int
    changes: tuple[PageChange, ...]
    presence: tuple[BrokerPresence, ...]
    owners: tuple[Owner, ...]


@dataclass(frozen=True, slots=True)
class PageRestart(Part):
    """One restart of one broker."""

    SOURCE: ClassVar[type] = Restart
    broker: str
    at: str
    lasted: str
    release: str
    cost: str


@dataclass(frozen=True, slots=True)
class PageRestarts(Part):
    """All restarts by time."""

    SOURCE: ClassVar[type] = Restarts
    n: int
    sentence: str
    listed: tuple[PageRestart, ...]


@dataclass(frozen=True, slots=True)
class PageStretch(Part):
    """A span of time in one state, with its times in words."""

    SOURCE: ClassVar[type] = WordedStretch
    state: str
    from_ns: int
    to_ns: int | None
    text: str
    begun: str
    ended: str
    lasted: str


@dataclass(frozen=True, slots=True)
class PageBrokerLane(Part):
    """The lane of a broker."""

    SOURCE: ClassVar[type] = WordedLane
    label: str
    short_label: str
    serving: tuple[PageStretch, ...]
    failing: tuple[PageStretch, ...]
    outcome: str
    in_short: str
