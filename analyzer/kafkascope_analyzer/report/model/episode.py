"""One recovery, loaded whole: the row, its client, and its steps with their packets.

`explain` and `timeline --recovery` show this model. Packet numbers are those of the capture file, from 1.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import capture_span, one_of
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, REQUESTS, TCP_EVENTS
from kafkascope_analyzer.report.formatting import address
from kafkascope_analyzer.report.model.client_names import NamedClient, named_clients
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep
from kafkascope_spark.stories.recoveries.table import Recovery

_SIGNS = {
    "error": ("refused", "rst", "fin", "syn_retry", "syn"),
    "reconnect": ("syn_ack",),
    "retry": ("syn", "syn_retry"),
}
"""Step without a request -> TCP events that show it."""


@dataclass(frozen=True, slots=True)
class StepRequest(Row):
    """The request of a step."""

    TABLE: ClassVar[Table] = REQUESTS
    request_id: str
    api_name: str | None
    api_version: int | None
    node_id: int | None
    ts_ns: int
    response_ns: int | None
    capture_id: int | None
    request_packet_no: int | None
    response_packet_no: int | None
    server_ip: str | None
    server_port: int | None
    throttle_ms: int | None


@dataclass(slots=True)
class EpisodeStep(RecoveryStep):
    """A step with its request, its first and last packet, their file, and the server's address."""

    request: StepRequest | None = None
    server: str | None = None
    packets: tuple[int, ...] = ()
    capture_id: int | None = None

    @property
    def api_name(self) -> str | None:
        """The API of its request."""
        return self.request.api_name if self.request else None


@dataclass(slots=True)
class EpisodeRecovery(Recovery):
    """A recovery with its steps."""

    steps: tuple[EpisodeStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """A recovery and its client. start_ns: the capture's start; files: file names by capture_id."""

    start_ns: int
    recovery: EpisodeRecovery
    client: NamedClient | None
    files: dict[int, str]


@dataclass(frozen=True, slots=True)
class _Server(Row):
    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    server_ip: str | None
    server_port: int | None


@dataclass(frozen=True, slots=True)
class _Event(Row):
    TABLE: ClassVar[Table] = TCP_EVENTS
    conn_id: str
    ts_ns: int
    event: str
    packet_no: int | None
    capture_id: int | None


@dataclass(frozen=True, slots=True)
class _File(Row):
    TABLE: ClassVar[Table] = CAPTURES
    capture_id: int
    path: str


def episode_model(dataset: Dataset, recovery_id: str) -> Episode:
    """Loads the episode of a recovery that the dataset has."""
    recovery = next(read(dataset, EpisodeRecovery, one_of("recovery_id", [recovery_id])))
    identity = recovery.client_instance_id
    return Episode(
        start_ns=capture_span(dataset)[0],
        recovery=replace(recovery, steps=_steps(dataset, recovery_id)),
        client=named_clients(dataset, [identity]).get(identity),
        files={file.capture_id: file.path for file in read(dataset, _File)},
    )


def _steps(dataset: Dataset, recovery_id: str) -> tuple[EpisodeStep, ...]:
    steps = sorted(read(dataset, EpisodeStep, one_of("recovery_id", [recovery_id])), key=lambda step: step.seq)
    ids = sorted({step.request_id for step in steps if step.request_id})
    requests = {row.request_id: row for row in read(dataset, StepRequest, one_of("request_id", ids))}
    of_connections = one_of("conn_id", sorted({step.conn_id for step in steps if step.conn_id}))
    servers = {row.conn_id: row for row in read(dataset, _Server, of_connections)}
    events = grouped(read(dataset, _Event, of_connections), lambda event: event.conn_id)
    found = []
    for step in steps:
        request, server = requests.get(step.request_id or ""), servers.get(step.conn_id or "")
        packets, capture_id = _packets(step, request, events.get(step.conn_id or "", []))
        place = None if server is None else address(server.server_ip, server.server_port)
        found.append(replace(step, request=request, server=place, packets=packets, capture_id=capture_id))
    return tuple(found)


def _packets(
    step: RecoveryStep, request: StepRequest | None, events: Iterable[_Event]
) -> tuple[tuple[int, ...], int | None]:
    """Returns the numbers of the packets that show the step, and their file."""
    is_closing = step.step == "error" and (step.error_name or "").startswith("CONNECTION_")
    if request is not None and not is_closing:
        answered = None if step.step == "retry" else request.response_packet_no
        found = (request.request_packet_no, answered)
        return tuple(number for number in found if number is not None), request.capture_id
    ts_ns, kinds = step.ts_ns, _SIGNS.get(step.step, ())
    near = [event for event in events if event.event in kinds and event.packet_no is not None]
    if not near:
        return (), None
    sign = min(near, key=lambda event: (abs(event.ts_ns - ts_ns), kinds.index(event.event)))
    return (sign.packet_no or 0,), sign.capture_id
