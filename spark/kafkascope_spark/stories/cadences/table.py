"""The table `cadences`: measured and expected intervals of what clients do periodically."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafkascope_analyzer.dataset.row_types import StoryRow, declares
from kafkascope_spark.stories.clients.client_instance import CLIENT_INSTANCE

CADENCE_NAMES = (
    "heartbeat",
    "fetch",
    "commit",
    "metadata_refresh",
    "poll_gap",
    "idle_before_close",
    "in_flight",
    "reauthentication",
)
ExpectedFrom = Literal["default", "join_group", "heartbeat_response", "fetch_request", "sasl_authenticate", "user"]
CadenceVerdict = Literal["as_expected", "late", "fast", "unknown"]


@declares("cadences", "loop of a client on a connection", sorted_by=("client_instance_id", "conn_id", "cadence"))
@dataclass(slots=True)
class Cadence(StoryRow):
    """A row of stories/cadences."""

    client_instance_id: Annotated[str, CLIENT_INSTANCE]
    conn_id: Annotated[str | None, "connection; null for metadata_refresh, which runs over all of them"]
    cadence: Annotated[str, CADENCE_NAMES, "the loop"]
    n: Annotated[int, "number of intervals that were measured"]
    p50_ms: Annotated[int, "median, milliseconds (in_flight: requests)"]
    p99_ms: Annotated[int, "99th percentile, milliseconds (in_flight: requests)"]
    max_ms: Annotated[int, "the longest, milliseconds (in_flight: requests)"]
    expected_ms: Annotated[int | None, "expected value, milliseconds (in_flight: requests); null where it is not known"]
    expected_from: Annotated[ExpectedFrom | None, "source of the expected value"]
    verdict: Annotated[CadenceVerdict, "result of the comparison with the expected value"]

    @property
    def is_odd(self) -> bool:
        """Whether it differs from the expected value."""
        return self.verdict in ("late", "fast")


CADENCES = Cadence.TABLE
