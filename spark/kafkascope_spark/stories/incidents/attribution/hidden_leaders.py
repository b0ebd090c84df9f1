"""Leaders that the capture does not show, for example in a capture taken at one broker. When a topic-partition moves to
a leader with which no client of the capture talks, whether clients were served there is not known."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from kafkascope_spark.stories.incidents.packets.leadership import Leadership
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.table import Stall


def without_hidden(
    stalls: Iterable[Stall],
    states: Iterable[BrokerState],
    known_leaders: Callable[[], Leadership],
    stall_ms: int,
) -> Iterator[Stall]:
    """Yields the stalls as far as the capture shows them: a stall is cut at the time at which a hidden leader is first
    reported, and its outcome is unknown then. Stalls shorter than stall_ms after that are dropped. known_leaders:
    returns the leaders; called only if they are needed."""
    known = list(stalls)
    shown = {row.node_id for row in states if row.host_kind == "client"}
    has_leaders = bool(shown - {None}) and any(stall.topic is not None for stall in known)
    leadership = known_leaders() if has_leaders else Leadership()
    hidden = leadership.nodes - shown if None not in shown else frozenset()
    for stall in known:
        until_ns = leadership.led_since(f"{stall.topic}-{stall.partition}", stall.from_ns, hidden) if hidden else None
        if until_ns is None or (stall.to_ns is not None and stall.to_ns <= until_ns):
            yield stall
        elif (left_ms := (until_ns - stall.from_ns) // 1_000_000) >= stall_ms:
            yield replace(stall, to_ns=until_ns, served=None, waited_ms=min(left_ms, stall.waited_ms))
