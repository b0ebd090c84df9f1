"""A recovery on its way from the client that it is of to the incidents."""

from dataclasses import dataclass

from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep
from kafkascope_spark.stories.recoveries.table import Recovery


@dataclass(slots=True)
class ClientRecovery(Recovery):
    """A recovery with the address of its client, which is no column of it."""

    client_ip: str | None = None

    @property
    def who(self) -> str:
        """The client id, else the client's address."""
        return str(self.client_id or self.client_ip)


RecoveryRow = ClientRecovery | RecoveryStep
"""A row that the recoveries of a client give."""
