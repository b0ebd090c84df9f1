"""Advice about the session timeouts of members of groups."""

import shlex
from collections.abc import Collection, Iterable

from kafkascope_parsers.group_protocols import PROTOCOLS
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.texts.texts import MOST_COMMANDS
from kafkascope_spark.stories.settings import setting

BROKER_SESSIONS = frozenset(protocol.name for protocol in PROTOCOLS if protocol.brokers_set_session_timeout)
"""Group protocols whose session timeout is a setting of brokers and groups (KIP-848, KIP-932, KIP-1071)."""
_LOWER = "hands the partitions of a dead member over sooner"
_HIGHER = "keeps members in the group that are silent for so long"
_ROUND_MS = 1_000
"""Suggested times are multiples of this."""


def session_of_client(observed: Observed, silent_ms: int, *, ran_on: bool) -> str:
    """Returns the advice about the session timeout that clients of classic groups set: its value, and a better one."""
    timeouts = {d.session_timeout_ms for d in observed.departed}
    timeouts |= {client.session_timeout_ms for client in observed.clients}
    now_ms = max((t for t in timeouts if t), default=None)
    name = setting("session_timeout", observed.libraries, defaults=now_ms is None)
    now = "" if now_ms is None else f", now {now_ms} ms,"
    heartbeat = setting("heartbeat_interval", observed.libraries)
    if ran_on and silent_ms:
        return f"A {name}{now} of {rounded_up(silent_ms)} ms {_HIGHER}; keep {heartbeat} at a third of it or less."
    return f"A lower {name}{now} {_LOWER}; keep {heartbeat} at a third of it or less."


def session_of_broker(
    groups: Collection[str], observed: Observed, silent_ms: int, *, protocol: str, ran_on: bool
) -> Iterable[str]:
    """Yields the advice about the session timeout that brokers set for groups of the protocol."""
    aim = _HIGHER if ran_on and silent_ms else _LOWER
    yield (
        f"A {'higher' if aim is _HIGHER else 'lower'} session timeout {aim}; brokers set it "
        f"(group.{protocol}.session.timeout.ms, not below group.{protocol}.min.session.timeout.ms)"
    )
    value = rounded_up(silent_ms if aim is _HIGHER else silent_ms // 2) or "MS"
    commands = [
        f"kafka-configs.sh {observed.tool} --alter --entity-type groups --entity-name {shlex.quote(group)} "
        f"--add-config {protocol}.session.timeout.ms={value}"
        for group in sorted(groups)[:MOST_COMMANDS]
    ]
    yield f"for all groups, and for one: {'; '.join(commands)}" if commands else "for all groups."


def rounded_up(ms: int) -> int:
    """Rounds a time up to a multiple of _ROUND_MS, in milliseconds."""
    return -(-ms // _ROUND_MS) * _ROUND_MS
