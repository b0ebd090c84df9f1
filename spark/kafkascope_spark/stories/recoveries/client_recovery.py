"""`ClientRecovery`: a recovery with additional facts that the incidents need."""

from dataclasses import dataclass
from typing import NamedTuple

from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep
from kafkascope_spark.stories.recoveries.table import Recovery


class LeaderReport(NamedTuple):
    """Metadata responses of one broker with one leader of a topic-partition, after the client's first error on it.
    node_id, server: the broker; last_ns, first_ns: times of the last and first response; n: number of responses."""

    node_id: int | None
    server: str
    leader_id: int
    last_ns: int
    n: int
    first_ns: int


@dataclass(slots=True)
class ClientRecovery(Recovery):
    """A recovery with facts that are no columns. client_ip: address of its client; closed_ns: when the server closed
    the connection of the first failed request, if it had no response for that reason; session_ms: length of the
    connection's SASL session, if that was over then; last_error_ns: time of its last error; leader_reports: leaders
    that brokers reported in the meantime. of_outsider: whether a group refused a request without a member id. of_topic:
    whether its first error was about a topic without a partition."""

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
        """Time of the last error."""
        return self.start_ns if self.last_error_ns is None else self.last_error_ns


RecoveryRow = ClientRecovery | RecoveryStep
"""A row that the recoveries of a client make."""
