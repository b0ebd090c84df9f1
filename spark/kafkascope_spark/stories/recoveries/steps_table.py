"""The table `recovery_steps`: the steps of clients, and the events, in each recovery."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I32, TIME, StoryRow, declares

RECOVERY_STEPS = (
    "error",
    "backoff",
    "hint",
    "metadata",
    "find_coordinator",
    "reconnect",
    "api_versions",
    "authenticate",
    "join_group",
    "sync_group",
    "heartbeat",
    "init_producer_id",
    "list_offsets",
    "offset_for_leader_epoch",
    "end_txn",
    "retry",
    "success",
)


@declares("recovery_steps", "step of an episode", sorted_by=("recovery_id", "seq"))
@dataclass(slots=True)
class RecoveryStep(StoryRow):
    """A row of stories/recovery_steps."""

    recovery_id: Annotated[str, "the episode"]
    seq: Annotated[int, I32, "order within the episode, from 1"]
    step: Annotated[str, RECOVERY_STEPS, "step"]
    conn_id: Annotated[str | None, "connection"]
    node_id: Annotated[int | None, I32, "node"]
    ts_ns: Annotated[int, TIME, "when"]
    duration_us: Annotated[int | None, "how long it took, microseconds"]
    request_id: Annotated[str | None, "request that proves it"]
    error_name: Annotated[str | None, "error"]

    @property
    def words(self) -> str:
        """The step in words."""
        return self.step.replace("_", " ")


RECOVERY_STEP_ROWS = RecoveryStep.TABLE
