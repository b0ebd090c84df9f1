"""What an incident says: what failed, from when to when, how the packets show it."""

from collections.abc import Callable
from typing import Any

from kafkascope_analyzer.dataset.capture_time import since_start
from kafkascope_spark.error_codes import WAITS_FOR
from kafkascope_spark.findings.wording import clock, counted, duration, listed
from kafkascope_spark.incidents.failure import Failure

Row = dict[str, Any]

UNSERVED = frozenset({"still_open", "gave_up", "client_ended", "fatal"})
"""Outcomes of recoveries whose clients were not served, there or elsewhere."""


def sentence_of(failure: Failure, end_ns: int | None, start_ns: int) -> str:
    """What failed, from when to when, and who stood still because of it. end_ns: when the last of them was served
    again; start_ns: start of the capture, from which times count."""
    what = _WHAT[failure.kind](failure, _period(failure, start_ns))
    served = None if end_ns is None else since_start(end_ns - start_ns)
    return f"{what}. {_impact(failure, served)}{_doubt(failure)}"


def how_known(failure: Failure) -> str:
    """What in the capture shows it."""
    return _KNOWN[failure.kind]


def _doubt(failure: Failure) -> str:
    """What else would look the same in the capture."""
    hosts = {row["host"] for row in failure.states}
    if failure.kind not in _SEEN_AS_PATH or len(hosts) != 1:
        return ""
    return f" Only {hosts.pop()} shows this: a firewall or a cut path between the two would look the same."


def _impact(failure: Failure, served: str | None) -> str:
    """Who stood still, and when the last was served again."""
    stalls = failure.stalls
    if not stalls:
        return _impact_without_stalls(failure)
    who = sorted({str(stall["group_id"] or stall["client_id"] or stall["client_ip"]) for stall in stalls})
    stood = f"{listed(who)} stood still, for {duration(max(s['waited_ms'] for s in stalls) * 1_000_000)} at the longest"
    if served is None:
        return f"{stood}; somebody still did at the end of the capture."
    return f"{stood}; the last was served again at {served}."


def _impact_without_stalls(failure: Failure) -> str:
    """Who could not work, as far as errors tell."""
    failed = {r["client_instance_id"] for r in failure.recoveries if r["outcome"] in UNSERVED}
    if failed:
        return f"{counted(len(failed), 'client')} could not work because of it."
    return "Nobody stood still because of it."


def _period(failure: Failure, start_ns: int) -> str:
    """From when to when it failed, counted from the start of the capture, with the time of day at which it began."""
    begin = f"from {since_start(failure.start_ns - start_ns)} ({clock(failure.start_ns)})"
    if failure.end_ns is None:
        return f"{begin} to the end of the capture"
    lasted = duration(failure.end_ns - failure.start_ns)
    return f"{begin} to {since_start(failure.end_ns - start_ns)} ({lasted})"


def _subject(failure: Failure) -> str:
    """What failed, as the begin of a sentence; names from the wire stay as they are."""
    of_ours = failure.subject.startswith(("node ", "group "))
    return failure.subject[:1].upper() + failure.subject[1:] if of_ours else failure.subject


def _down(failure: Failure, period: str) -> str:
    return f"{_subject(failure)} was down {period}: its connections ended together, and new ones were refused"


def _silent(failure: Failure, period: str) -> str:
    return f"{_subject(failure)} was silent {period}: no packet came from it while {_waiting(failure)}"


def _frozen(failure: Failure, period: str) -> str:
    return (
        f"{_subject(failure)} was frozen {period}: its kernel acknowledged data, and the broker sent nothing "
        f"while {_waiting(failure)}"
    )


def _slow(failure: Failure, period: str) -> str:
    return f"{_subject(failure)} was slow {period}: responses took at least ten times as long as usual"


def _path(failure: Failure, period: str) -> str:
    hosts = listed(sorted(failure.hosts))
    how = {"silent": "no packet came back", "refusing": "connections were refused", "down": "connections were refused"}
    states = {row["state"] for row in failure.states}
    what = " and ".join(dict.fromkeys(how[s] for s in sorted(states) if s in how)) or "no response came back"
    return f"{hosts} did not reach {failure.subject} {period}: {what}, while the broker served other hosts"


def _replication(failure: Failure, period: str) -> str:
    hosts = listed(sorted(failure.hosts))
    return f"{_subject(failure)} and {hosts} did not reach each other {period}, while the broker served other hosts"


def _listener(failure: Failure, period: str) -> str:
    return f"Nobody was served at {failure.subject} {period}: no connection was accepted there in the capture"


def _member(failure: Failure, period: str) -> str:
    gone = [d for r in failure.rebalances for d in r["departed"] or () if d["how"] not in ("left", None)]
    if gone:
        who = listed(sorted({str(d["client_id"] or d["member_id"]) for d in gone}))
        return f"In {failure.subject}, {who} went away without leaving, {period}"
    if failure.stalls:
        return f"{_subject(failure)} rebalanced, and partitions were not read {period}"
    return f"Members of groups lost their place {period}"


def _leader_move(failure: Failure, period: str) -> str:
    return f"Leaders of {_resources(failure)} moved, or were not known, {period}"


def _coordinator_move(failure: Failure, period: str) -> str:
    return f"The coordinator of {_resources(failure)} moved, or was not ready, {period}"


def _permission(failure: Failure, period: str) -> str:
    return f"Access to {failure.subject} was denied ({listed(sorted(failure.error_names))}) {period}"


def _missing_topic(failure: Failure, period: str) -> str:
    return f"{_subject(failure)} was not there ({listed(sorted(failure.error_names))}) {period}"


def _quota(failure: Failure, period: str) -> str:
    apis = sorted({r["resource"].removeprefix("quota: ") for r in failure.recoveries})
    return f"A quota held back {listed(apis)} requests {period}"


def _unexplained(failure: Failure, period: str) -> str:
    kinds = {stall["kind"] for stall in failure.stalls}
    what = {
        "produce": "records were not accepted",
        "consume": "accepted records were not fetched",
        "commit": "offsets were not committed",
        "membership": "a member had no place in its group",
        "transaction": "a transaction did not go on",
        "metadata": "metadata did not come",
    }
    waited = " and ".join(what[kind] for kind in what if kind in kinds)
    errors = sorted({name for stall in failure.stalls for name in stall["error_names"]})
    why = f"the errors were {listed(errors)}" if errors else "nothing in the capture shows why"
    return f"{waited[:1].upper()}{waited[1:]} {period}; {why}{_waited_for(failure)}"


def _waited_for(failure: Failure) -> str:
    """What brokers waited for while they returned the errors, and which brokers did."""
    waiting = [(stall, name) for stall in failure.stalls for name in stall["error_names"] if name in WAITS_FOR]
    if not waiting:
        return ""
    nodes = sorted({stall["node_id"] for stall, _ in waiting if stall["node_id"] is not None})
    who = listed([f"node {node}" for node in nodes]) if nodes else "the broker"
    return f": {who} waited for {listed(sorted({WAITS_FOR[name] for _, name in waiting}))}"


def _resources(failure: Failure) -> str:
    return listed(sorted({r["resource"] for r in failure.recoveries}) or [failure.subject])


def _waiting(failure: Failure) -> str:
    n = len({row["host"] for row in failure.states})
    return f"{counted(n, 'host')} waited for one"


def _client(failure: Failure, period: str) -> str:
    several = len(failure.silences) > 1
    n = sum(silence["n_connections"] for silence in failure.silences)
    heartbeat = duration(max(silence["heartbeat_ms"] for silence in failure.silences) * 1_000_000)
    return (
        f"Client{'s' if several else ''} {failure.subject} stood still {period}: no request came on any of "
        f"{'their' if several else 'its'} connections ({n}), although heartbeats were due every {heartbeat}, and the "
        f"host's kernel acknowledged what brokers sent{_removed(failure)}"
    )


def _removed(failure: Failure) -> str:
    """The groups that went on without the clients that stood still."""
    groups = sorted({rebalance["group_id"] for rebalance in failure.rebalances})
    return f"; {counted(len(groups), 'group')} removed a member for it: {listed(groups)}" if groups else ""


_WHAT: dict[str, Callable[[Failure, str], str]] = {
    "broker_down": _down,
    "broker_silent": _silent,
    "broker_frozen": _frozen,
    "broker_slow": _slow,
    "path": _path,
    "replication": _replication,
    "listener": _listener,
    "leader_move": _leader_move,
    "coordinator_move": _coordinator_move,
    "member": _member,
    "permission": _permission,
    "missing_topic": _missing_topic,
    "quota": _quota,
    "client": _client,
    "unexplained": _unexplained,
}
_SEEN_AS_PATH = frozenset({"broker_down", "broker_silent"})
"""Kinds that cannot be told from a failed path where one host alone sees them. A broker is frozen where its kernel
responds, so the path works."""
_STATES = "states of the broker, from the packets of its connections"
_KNOWN: dict[str, str] = {
    **dict.fromkeys(("broker_down", "broker_silent", "broker_frozen", "broker_slow", "path", "replication"), _STATES),
    "listener": "attempts to connect",
    "member": "requests of the group's members, and its rebalances",
    **dict.fromkeys(("leader_move", "coordinator_move", "permission", "missing_topic", "quota"), "error codes"),
    "client": "packets of the client's connections around its silence: none of its process, some of its host's kernel",
    "unexplained": "times of requests and responses",
}
