"""Connections that brokers closed at the end of a SASL session (KIP-368)."""

from kafkascope_spark.stories.incidents.errors.ended_sasl_sessions import ended_sasl_sessions
from kafkascope_spark.stories.incidents.kinds.session_ended import SESSION_ENDED

from .conftest import NS, MakeRow


def ended(recovery: MakeRow, host: int, at: float, session_ms: int | None = 60_000, **more: object) -> object:
    made = recovery("CONNECTION_CLOSED", host, 1, at, at + 1, resource_kind="connection", **more)
    made.session_ms, made.client_id = session_ms, f"app-{host}"
    return made


def test_each_client_is_one_failure_with_all_its_sessions(recovery: MakeRow) -> None:
    rows = [ended(recovery, host, at) for host, at in ((22, 15), (21, 70), (21, 10))]
    first, second = ended_sasl_sessions(rows)
    assert (first.kind, first.subject, first.hosts) == (SESSION_ENDED, "app-21 (10.0.0.21)", {"10.0.0.21"})
    assert (first.start_ns, first.end_ns, len(first.recoveries)) == (10 * NS, 71 * NS, 2)
    assert (second.subject, second.start_ns) == ("app-22 (10.0.0.22)", 15 * NS)


def test_a_connection_that_was_closed_for_another_reason_is_none(recovery: MakeRow) -> None:
    assert list(ended_sasl_sessions([ended(recovery, 21, 10, None)])) == []
