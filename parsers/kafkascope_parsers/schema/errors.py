"""Kafka's error codes: name, and whether the client may retry. Source: org.apache.kafka.common.protocol.Errors."""

from functools import cache

from kafkascope_parsers.schema.facts import read_facts


@cache
def _table() -> dict[int, tuple[str, bool]]:
    return {e["code"]: (e["name"], e["retriable"]) for e in read_facts("errors")["errors"]}


def error_codes() -> tuple[int, ...]:
    """Every known code, ascending, -1 (UNKNOWN_SERVER_ERROR) and 0 (NONE) among them."""
    return tuple(_table())


def error_name(code: int) -> str:
    """Kafka's name of a code, such as NOT_LEADER_OR_FOLLOWER; UNKNOWN_<code> for a code of a newer release."""
    entry = _table().get(code)
    return entry[0] if entry else f"UNKNOWN_{code}"


def is_retriable(code: int) -> bool:
    """Whether Kafka's exception for the code is a RetriableException; False for a code we do not know."""
    entry = _table().get(code)
    return entry is not None and entry[1]
