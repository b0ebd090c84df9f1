"""Chooses the episode of a capture for which the report shows a diagram."""

from kafkascope_analyzer.report.model.clients import Client, Clients
from kafkascope_analyzer.report.model.recoveries import RecoveredCause
from kafkascope_spark.stories.recoveries.table import NOT_RECOVERED


def worst_episode(clients: Clients) -> tuple[Client, RecoveredCause] | None:
    """Returns (client, its recovery): one that did not end well, else the longest. None where nothing failed, or no
    steps are known.
    """
    pairs = [(client, recovery) for client in clients.listed for recovery in client.recoveries if recovery.steps]
    pairs.sort(key=lambda pair: (pair[1].start_ns or 0, pair[1].recovery_id))
    return min(pairs, key=lambda pair: _severity(pair[1]), default=None)


def _severity(recovery: RecoveredCause) -> tuple[bool, int]:
    return recovery.outcome not in NOT_RECOVERED, -(recovery.time_to_recover_ms or recovery.n_errors)
