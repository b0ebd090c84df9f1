"""Makes the step of an episode from a request, by its API."""

from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.recoveries.journal import EpisodeStep

STEP_OF_API = {
    api_keys.METADATA: "metadata",
    api_keys.FIND_COORDINATOR: "find_coordinator",
    api_keys.API_VERSIONS: "api_versions",
    api_keys.SASL_HANDSHAKE: "authenticate",
    api_keys.SASL_AUTHENTICATE: "authenticate",
    api_keys.JOIN_GROUP: "join_group",
    api_keys.SYNC_GROUP: "sync_group",
    api_keys.HEARTBEAT: "heartbeat",
    **dict.fromkeys(api_keys.GROUP_HEARTBEATS, "heartbeat"),
    api_keys.INIT_PRODUCER_ID: "init_producer_id",
    api_keys.LIST_OFFSETS: "list_offsets",
    api_keys.OFFSET_FOR_LEADER_EPOCH: "offset_for_leader_epoch",
    api_keys.END_TXN: "end_txn",
}
BY_ANSWER = frozenset({"metadata", "find_coordinator"})
"""Steps whose time is that of the response, because the client learns something from it."""


def step_of(
    name: str, request: Request, at: int, error_name: str | None = None, retry_key: object = None
) -> EpisodeStep:
    """The step with that name made from a request, at the time."""
    took = (request.response_ns - request.ts_ns) // 1000 if request.response_ns is not None else None
    return EpisodeStep(
        name,
        at,
        request.conn_id,
        request.node_id,
        request.request_id,
        took,
        error_name,
        retry_key,
        api_name=request.api_name,
    )
