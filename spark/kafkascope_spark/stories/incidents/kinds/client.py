"""Clients that were paused, or whose settings do not fit a listener.

Looks at a client's silence on all its connections while its host's kernel acknowledged received data, and something was
due: heartbeats, the next Fetch, records that it writes at a steady pace; and at the protocols that clients use at a
listener. Could be confused with an application that polls late (slow_consumer), whose heartbeats go on; with an idle
producer, for which nothing was due; and with a failed host (client_host), whose kernel is silent too. Proved by overdue
heartbeats, and by the data that it sent at once afterwards.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, duration, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.signals.silence_moments import DueKind
from kafkascope_spark.stories.incidents.signals.silent_client import SilentClient
from kafkascope_spark.stories.incidents.texts.misuse_advice import what_fits
from kafkascope_spark.stories.incidents.texts.misuse_sentences import misuse_sentence
from kafkascope_spark.stories.incidents.texts.session_timeouts import (
    BROKER_SESSIONS,
    session_of_broker,
    session_of_client,
)
from kafkascope_spark.stories.settings import settings


def _sentence(failure: Failure, times: Times) -> str:
    if failure.misuse is None:
        return _paused_since(failure, times)
    return f"{misuse_sentence(failure.misuse)} {times.of(failure)}"


def _paused_since(failure: Failure, times: Times) -> str:
    several = len(_n_connections(failure)) > 1
    n = sum(_n_connections(failure).values())
    surest = min(failure.silences, key=lambda silence: (_SUREST.index(silence.due_kind), -silence.usual_ms))
    if surest.due_kind == "read":
        return _did_not_read(failure, times, n)
    was = "were" if several else "was"
    if all(silence.claimed for silence in failure.silences):
        was = "seem to have been" if several else "seems to have been"
    return (
        f"Client{'s' if several else ''} {failure.subject} {was} paused {_how_often(failure)}{times.of(failure)}: no "
        f"request came on any of {'their' if several else 'its'} connections ({n}), although "
        f"{_what_was_due(surest)}, while the host's kernel acknowledged what brokers "
        f"sent{_or(surest)}{_removed(failure)}"
    )


def _did_not_read(failure: Failure, times: Times, n: int) -> str:
    several = len(_n_connections(failure)) > 1
    windows = "receive window of 1 connection was" if n == 1 else f"receive windows of {n} connections were"
    return (
        f"Client{'s' if several else ''} {failure.subject} did not read what brokers sent "
        f"{_how_often(failure)}{times.of(failure)}: the {windows} closed, while the host's kernel "
        f"worked{_removed(failure)}"
    )


def _n_connections(failure: Failure) -> dict[str, int]:
    """Returns the largest number of silent connections of each client, by client_instance_id."""
    found: dict[str, int] = {}
    for silence in failure.silences:
        found[silence.client_instance_id] = max(found.get(silence.client_instance_id, 0), silence.n_connections)
    return found


def _how_often(failure: Failure) -> str:
    """Returns how often the clients were paused, and for how long at most, if there were several pauses; else an empty
    text."""
    counts = Counter(silence.client_instance_id for silence in failure.silences)
    n = max(counts.values())
    lasted = max((silence.to_ns or silence.from_ns) - silence.from_ns for silence in failure.silences)
    return "" if n == 1 else f"{n} times, for up to {duration(lasted)}, "


_SUREST: tuple[DueKind, ...] = ("heartbeat", "fetch", "records", "read")
"""Kinds of overdue work, the strongest evidence of a stalled process first: a closed window shows only that the process
did not read that connection."""


def _what_was_due(silence: SilentClient) -> str:
    if silence.claimed:
        return f"{_due(silence)}, as the lengths of its encrypted requests show"
    return _due(silence)


def _due(silence: SilentClient) -> str:
    if silence.due_kind == "heartbeat":
        return f"heartbeats were due every {duration(silence.usual_ms * 1_000_000)}"
    usual = f"{silence.usual_ms} ms"
    if silence.due_kind == "fetch":
        return f"it otherwise fetches again {f'{usual} after' if silence.usual_ms else 'as soon as it has'} a response"
    sent = counted(silence.n_sent, "record")
    return (
        f"it otherwise sends a record every {usual} and sent {sent} at once afterwards, about as many as had been "
        "missing"
    )


def _or(silence: SilentClient) -> str:
    """Returns the other explanation that would look the same; empty if there is none."""
    if silence.due_kind == "heartbeat":
        return ""
    other = "its application polled late" if silence.due_kind == "fetch" else "the source of its records was"
    return f"; its process was stopped, or {other}"


def _removed(failure: Failure) -> str:
    """Returns the groups that removed the paused clients; empty if none did."""
    groups = sorted({rebalance.group_id for rebalance in failure.rebalances})
    return f"; {counted(len(groups), 'group')} removed a member because of it: {listed(groups)}" if groups else ""


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    return _what_stops_clients(failure, observed) if failure.misuse is None else what_fits(failure.misuse, observed)


def _what_stops_clients(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield clients(
        f"Look at the process and the host of {failure.subject} for that time: a long garbage collection (Java: "
        "-Xlog:gc*), a stopped process, container or virtual machine (SIGSTOP, a debugger, a snapshot), a CPU limit "
        "(cpu.stat: nr_throttled), swapping; in a client with one event loop, a handler that does not return."
    )
    yield from _if_it_ran(failure, observed)
    if not failure.rebalances:
        return
    silent_ms = max(((s.to_ns or s.from_ns) - s.from_ns) // 1_000_000 for s in failure.silences)
    groups: dict[str | None, set[str]] = defaultdict(set)
    for silence in failure.silences:
        client = observed.client(silence.client_instance_id)
        protocol = None if client is None else client.group_protocol
        groups[protocol if protocol in BROKER_SESSIONS else None].update(silence.groups)
    for protocol in sorted(groups, key=str):
        if protocol is None:
            yield clients(session_of_client(observed, silent_ms, ran_on=True))
        else:
            settings = session_of_broker(groups[protocol], observed, silent_ms, protocol=protocol, ran_on=True)
            yield from map(brokers, settings)


def _if_it_ran(failure: Failure, observed: Observed) -> Iterable[Action]:
    """Yields advice for the case that the process may have run: no heartbeat was overdue."""
    due_kind = {silence.due_kind for silence in failure.silences}
    if due_kind == {"fetch"}:
        yield clients("If the process ran, its application took that long between two polls: look at what it did then.")
    if due_kind == {"read"}:
        less = settings(("fetch_max",), observed.libraries)
        yield clients(
            "If the process ran, it was busy with what it had read: look at what it does with a record, and let it ask "
            f"for less at once{f' ({less})' if less else ''}."
        )
    if due_kind == {"records"}:
        yield clients("If the process ran, look at where it gets its records from.")


CLIENT = Kind(
    "client",
    "client paused or misconfigured",
    plural="clients paused or misconfigured",
    sentence=_sentence,
    advice=_advice,
    known="packets of the client's connections around its silence: none of its process, some of its host's kernel",
    place="client",
    of_clients=True,
)
