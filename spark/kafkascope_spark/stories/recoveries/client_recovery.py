"""A recovery on its way from the client that it is of to the incidents."""

from dataclasses import dataclass
from typing import NamedTuple

from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep
from kafkascope_spark.stories.recoveries.table import Recovery


class LeaderReport(NamedTuple):
    """A broker that named a leader of a topic-partition to the client in Metadata, after the first error on it: node_id
    and server of the broker, when it did so last, how often, and when first."""

    node_id: int | None
    server: str
    leader_id: int
    last_ns: int
    n: int
    first_ns: int


@dataclass(slots=True)
class ClientRecovery(Recovery):
    """A recovery with what is no column of it: the address of its client; when the server closed the connection of the
    first request that failed, where that was why it had no response, and how long its
    SASL session lasted, where that was over then; its last error, and which leaders brokers named
    meanwhile. of_outsider: a group refused a request that names no member. of_topic: its first error was about a topic,
    of which no partition was named."""

    client_ip: str | None = None
    closed_ns: int | None = None
    session_ms: int | None = None
    last_error_ns: int | None = None
    leader_reports: tuple[LeaderReport, ...] = ()
    of_outsider: bool = False
    of_topic: bool = False

    @property
    def who(self) -> str:
        """The client id, else the client's address."""
        return str(self.client_id or self.client_ip)

    @property
    def last_failed_ns(self) -> int:
        """The last error."""
        return self.start_ns if self.last_error_ns is None else self.last_error_ns


RecoveryRow = ClientRecovery | RecoveryStep
"""A row that the recoveries of a client give."""
