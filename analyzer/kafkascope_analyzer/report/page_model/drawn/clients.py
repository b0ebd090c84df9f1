"""Clients on their lanes, their starts, recoveries and stalls."""

from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.report.page_model.drawn.part import Part
from kafkascope_analyzer.report.page_model.lanes import LaneClient, LaneConnection, LaneRole, Lanes, TcpEvents
from kafkascope_analyzer.report.page_model.recovery_texts import PageCause
from kafkascope_analyzer.report.page_model.starts_and_recoveries import WordedRecovery, WordedStart, WordedStep
from kafkascope_analyzer.report.page_model.waits import StallBand
from kafkascope_spark.stories.startups.table import StartupStepRow


@dataclass(frozen=True, slots=True)
class PageStartStep(Part):
    """A row of startup_steps."""

    SOURCE: ClassVar[type] = StartupStepRow
    step: str
    subject: str | None
    node_id: int | None
    start_ns: int | None
    end_ns: int | None
    duration_us: int | None
    broker_us: int | None
    wait_us: int | None
    attempt: int | None
    outcome: str | None
    error_name: str | None
    on_critical_path: bool
    request_ids: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class PageStart(Part):
    """A start with its words. to_ns: when it was ready, else the end of its last step."""

    SOURCE: ClassVar[type] = WordedStart
    client_instance_id: str
    start_ns: int | None
    ready_ns: int | None
    outcome: str | None
    expected_sequence: str | None
    expected_steps: tuple[str, ...] | None
    missing_steps: tuple[str, ...] | None
    extra_steps: tuple[str, ...] | None
    repeated_steps: tuple[str, ...] | None
    out_of_order_steps: tuple[str, ...] | None
    steps: tuple[PageStartStep, ...]
    heading: str
    ended: str
    slowest_text: str


@dataclass(frozen=True, slots=True)
class PageStarts(Part):
    """The starts by time."""

    listed: tuple[PageStart, ...]


@dataclass(frozen=True, slots=True)
class PageRecoveryStep(Part):
    """A step with its words; at: after the first error."""

    SOURCE: ClassVar[type] = WordedStep
    step: str
    conn_id: str | None
    node_id: int | None
    ts_ns: int | None
    duration_us: int | None
    request_id: str | None
    error_name: str | None
    text: str
    at: str
    took: str


@dataclass(frozen=True, slots=True)
class PageRecovery(Part):
    """A recovery with its words and steps."""

    SOURCE: ClassVar[type] = WordedRecovery
    recovery_id: str
    client_instance_id: str
    resource: str | None
    outcome: str | None
    start_ns: int | None
    recovered_ns: int | None
    old_node_id: int | None
    steps: tuple[PageRecoveryStep, ...]
    heading: str
    ended: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageEpisodes(Part):
    """Recoveries by time, and those of one cause together."""

    listed: tuple[PageRecovery, ...]
    causes: tuple[PageCause, ...]


@dataclass(frozen=True, slots=True)
class PageStallBand(Part):
    """A stall. to_ns: None where it is not over."""

    SOURCE: ClassVar[type] = StallBand
    client_instance_id: str | None
    node_id: int | None
    from_ns: int
    to_ns: int | None
    text: str


@dataclass(frozen=True, slots=True)
class PageLaneClient(Part):
    """A client instance, or an address whose connections belong to none. conns: indices into the connections."""

    SOURCE: ClassVar[type] = LaneClient
    client_instance_id: str
    client_id: str | None
    client_ip: str | None
    kind: str
    software_name: str | None
    principal: str | None
    group_id: str | None
    end_state: str | None
    first_ns: int | None
    n_requests: int | None
    n_connections: int
    conns: tuple[int, ...]
    name: str
    what: str
    software: str
    facts: tuple[str, ...]
    start: str | None
    start_outcome: str | None
    outcome: str
    trouble: str


@dataclass(frozen=True, slots=True)
class PageLaneConnection(Part):
    """A connection. client: its index among the clients; family: the family whose colour it has, None where no role is
    known."""

    SOURCE: ClassVar[type] = LaneConnection
    conn_id: str
    node_id: int | None
    protocol: str | None
    first_ns: int
    last_ns: int
    close_kind: str | None
    n_requests: int | None
    n_errors: int | None
    close_ns: int | None
    from_: str
    to: str
    client: int
    roles: tuple[LaneRole, ...]
    family: int | None


@dataclass(frozen=True, slots=True)
class PageTcpEvents(Part):
    """TCP events on the lanes, as columns in the order of the lanes."""

    SOURCE: ClassVar[type] = TcpEvents
    conn: tuple[int, ...]
    event: tuple[str, ...]
    packet_no: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class PageLanes(Part):
    """Clients by the time they were first seen, brokers after all others; connections by their client and time."""

    SOURCE: ClassVar[type] = Lanes
    clients: tuple[PageLaneClient, ...]
    connections: tuple[PageLaneConnection, ...]
    n_connections: int
    events: PageTcpEvents
