"""The machine over the recoveries of all clients, which gives each its cause."""

from collections.abc import Iterator
from functools import partial

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.recoveries.causes import Causes
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery


class RecoveryCauses:
    """Recoveries in the order of (affected_ns, recovery_id). failed_parts: takes the recoveries of which no cause can
    be found; they have none."""

    def __init__(self, failed_parts: FailedParts) -> None:
        self._failed_parts = failed_parts
        self._causes = Causes()

    def take(self, recovery: ClientRecovery, origin: Origin) -> Iterator[ClientRecovery]:
        """The recovery with its cause."""
        cause_of = partial(self._causes.cause_of, recovery)
        recovery.cause_id = self._failed_parts.value("cause of recovery", recovery.recovery_id, None, cause_of)
        yield recovery

    def finish(self) -> Iterator[ClientRecovery]:
        """Nothing is left."""
        return iter(())
