"""What an incident says: what failed, from when to when, how the packets show it."""

from collections.abc import Callable
from typing import Any

from kafkascope_spark.error_codes import WAITS_FOR
from kafkascope_spark.findings.wording import clock, counted, duration, listed
from kafkascope_spark.incidents.failure import Failure

Row = dict[str, Any]

UNSERVED = frozenset({"still_open", "gave_up", "client_ended", "fatal"})
"""Outcomes of recoveries whose clients were not served, there or elsewhere."""


def sentence_of(failure: Failure, end_ns: int | None) -> str:
    """What failed, from when to when, and who stood still because of it."""
    what = _WHAT[failure.kind](failure)
    return f"{what}. {_impact(failure, end_ns)}{_doubt(failure)}"


def how_known(failure: Failure) -> str:
    """What in the capture shows it."""
    return _KNOWN[failure.kind]


def _doubt(failure: Failure) -> str:
    """What else would look the same in the capture."""
    hosts = {row["host"] for row in failure.states}
    if failure.kind not in _SEEN_AS_PATH or len(hosts) != 1:
        return ""
    return f" Only {hosts.pop()} shows this: a firewall or a cut path between the two would look the same."


def _impact(failure: Failure, end_ns: int | None) -> str:
    """Who stood still, and whether it is over."""
    stalls = failure.stalls
    if not stalls:
        return _impact_without_stalls(failure)
    who = sorted({_who(stall) for stall in stalls})
    stood = f"{listed(who)} stood still, for {duration(max(s['waited_ms'] for s in stalls) * 1_000_000)} at the longest"
    if end_ns is None:
        return f"{stood}; somebody still did at the end of the capture."
    unserved = sorted({_who(stall) for stall in stalls if stall["served"] is False})
    if not unserved:
        return f"{stood}; the last was served again at {clock(end_ns)}."
    gave_up = f"{listed(unserved)} gave up or ended without being served"
    again_ns = max((stall["to_ns"] for stall in stalls if stall["served"]), default=None)
    if again_ns is None:
        return f"{stood}; {gave_up}, the last at {clock(end_ns)}."
    return f"{stood}; the last was served again at {clock(again_ns)}; {gave_up}."


def _who(stall: Row) -> str:
    """The group, the client id, or the client's address."""
    return str(stall["group_id"] or stall["client_id"] or stall["client_ip"])


def _impact_without_stalls(failure: Failure) -> str:
    """Who could not work, as far as errors tell."""
    failed = {r["client_instance_id"] for r in failure.recoveries if r["outcome"] in UNSERVED}
    if failed:
        return f"{counted(len(failed), 'client')} could not work because of it."
    return "Nobody stood still because of it."


def _period(failure: Failure) -> str:
    if failure.end_ns is None:
        return f"from {clock(failure.start_ns)} to the end of the capture"
    lasted = duration(failure.end_ns - failure.start_ns)
    return f"from {clock(failure.start_ns)} to {clock(failure.end_ns)} ({lasted})"


def _subject(failure: Failure) -> str:
    """What failed, with a capital letter: node 2 (10.0.0.2:9092), group orders. Not for a bare name, which has none."""
    return failure.subject[:1].upper() + failure.subject[1:]


def _down(failure: Failure) -> str:
    return f"{_subject(failure)} was down {_period(failure)}: its connections ended together, and new ones were refused"


def _silent(failure: Failure) -> str:
    return f"{_subject(failure)} was silent {_period(failure)}: no packet came from it while {_waiting(failure)}"


def _frozen(failure: Failure) -> str:
    return (
        f"{_subject(failure)} was frozen {_period(failure)}: its kernel acknowledged data, and the broker sent nothing "
        f"while {_waiting(failure)}"
    )


def _slow(failure: Failure) -> str:
    return f"{_subject(failure)} was slow {_period(failure)}: responses took at least ten times as long as usual"


def _path(failure: Failure) -> str:
    hosts = listed(sorted(failure.hosts))
    how = {"silent": "no packet came back", "refusing": "connections were refused", "down": "connections were refused"}
    states = {row["state"] for row in failure.states}
    what = " and ".join(dict.fromkeys(how[s] for s in sorted(states) if s in how)) or "no response came back"
    return f"{hosts} did not reach {failure.subject} {_period(failure)}: {what}, while the broker served other hosts"


def _replication(failure: Failure) -> str:
    hosts = listed(sorted(failure.hosts))
    return (
        f"{_subject(failure)} and {hosts} did not reach each other {_period(failure)}, while the broker served other "
        "hosts"
    )


def _listener(failure: Failure) -> str:
    return f"Nobody was served at {failure.subject} {_period(failure)}: no connection was accepted there in the capture"


def _member(failure: Failure) -> str:
    gone = [d for r in failure.rebalances for d in r["departed"] or () if d["how"] not in ("left", None)]
    if gone:
        who = listed(sorted({str(d["client_id"] or d["member_id"]) for d in gone}))
        return f"In {failure.subject}, {who} went away without leaving, {_period(failure)}"
    if failure.stalls:
        return f"{_subject(failure)} rebalanced, and partitions were not read {_period(failure)}"
    return f"Members of groups lost their place {_period(failure)}"


def _leader_move(failure: Failure) -> str:
    return f"Leaders of {_resources(failure)} moved, or were not known, {_period(failure)}"


def _coordinator_move(failure: Failure) -> str:
    return f"The coordinator of {_resources(failure)} moved, or was not ready, {_period(failure)}"


def _permission(failure: Failure) -> str:
    return f"Access to {failure.subject} was denied ({listed(sorted(failure.error_names))}) {_period(failure)}"


def _missing_topic(failure: Failure) -> str:
    return f"{failure.subject} was not there ({listed(sorted(failure.error_names))}) {_period(failure)}"


def _quota(failure: Failure) -> str:
    apis = sorted({r["resource"].removeprefix("quota: ") for r in failure.recoveries})
    return f"A quota held back {listed(apis)} requests {_period(failure)}"


def _unexplained(failure: Failure) -> str:
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
    return f"{waited[:1].upper()}{waited[1:]} {_period(failure)}; {why}{_waited_for(failure)}"


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


_WHAT: dict[str, Callable[[Failure], str]] = {
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
    "unexplained": "times of requests and responses",
}
