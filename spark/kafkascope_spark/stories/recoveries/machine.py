"""The machine over the recoveries of all clients, which sets their causes."""

from collections.abc import Iterator
from functools import partial

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.recoveries.causes import Causes
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery


class RecoveryCauses:
    """Takes recoveries in the order of (affected_ns, recovery_id). failed_parts: collects recoveries for which the
    search raises an error; they have no cause."""

    def __init__(self, failed_parts: FailedParts) -> None:
        self._failed_parts = failed_parts
        self._causes = Causes()

    def take(self, recovery: ClientRecovery, origin: Origin) -> Iterator[ClientRecovery]:
        """Yields the recovery with its cause set."""
        cause_of = partial(self._causes.cause_of, recovery)
        recovery.cause_id = self._failed_parts.value("cause of recovery", recovery.recovery_id, None, cause_of)
        yield recovery

    def finish(self) -> Iterator[ClientRecovery]:
        """Returns nothing."""
        return iter(())
