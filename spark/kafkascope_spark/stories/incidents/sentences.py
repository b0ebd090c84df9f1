"""What an incident says: what failed, from when to when, how the packets show it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from kafkascope_analyzer.dataset.capture_time import since_start
from kafkascope_analyzer.dataset.stories.stalls import Stall
from kafkascope_parsers.error_facts import SERVER_CLOSED, WAITS_FOR
from kafkascope_spark.stories.findings.wording import begin, counted, duration, listed
from kafkascope_spark.stories.incidents.failure import EndedSession, Failure
from kafkascope_spark.stories.incidents.misconfigured_texts import misuse_impact, misuse_known, misuse_sentence
from kafkascope_spark.stories.incidents.observed import names_of
from kafkascope_spark.stories.incidents.other_failures import is_about_id, left_behind
from kafkascope_spark.stories.incidents.topics import is_of_group, partitions_of
from kafkascope_spark.stories.incidents.zookeeper_session import ZOOKEEPER_SESSION
from kafkascope_spark.stories.recoveries.resources import PRODUCER_IDS

_SEVERAL = 2
"""Of so many stalls the sentence says where they waited."""
UNSERVED = frozenset({"still_open", "gave_up", "client_ended", "fatal"})
"""Outcomes of recoveries whose clients were not served, there or elsewhere."""


@dataclass(frozen=True, slots=True)
class Times:
    """Writes times as counted from the start of the capture."""

    start_ns: int

    def at(self, ns: int) -> str:
        """A time as mm:ss.mmm after the capture's start."""
        return since_start(ns - self.start_ns)

    def of(self, failure: Failure) -> str:
        """From when to when it failed, with the time of day at which it began."""
        begin_ns = failure.start_ns if failure.closed_ns is None else failure.closed_ns
        since = f"from {begin(begin_ns, self.start_ns)}"
        if failure.end_ns is None:
            return f"{since} to the end of the capture"
        return f"{since} to {self.at(failure.end_ns)} ({duration(failure.end_ns - begin_ns)})"


def sentence_of(failure: Failure, end_ns: int | None, start_ns: int) -> str:
    """What failed, from when to when, and who stood still because of it. end_ns: when the last of them was served
    again; start_ns: start of the capture, from which times count."""
    times = Times(start_ns)
    what = _WHAT[failure.kind](failure, times)
    return f"{what}. {_session(failure, times)}{_impact(failure, end_ns, times)}{_earlier(failure)}{_doubt(failure)}"


def how_known(failure: Failure) -> str:
    """What in the capture shows it."""
    known = _KNOWN[failure.kind] if failure.misuse is None else misuse_known(failure.misuse)
    if failure.session is None or failure.kind == ZOOKEEPER_SESSION:
        return known
    return f"{known}; its ZooKeeper session"


def _session(failure: Failure, times: Times) -> str:
    """When the broker's ZooKeeper session ended, which makes the controller move its leaders."""
    session = failure.session
    if session is None or failure.kind == ZOOKEEPER_SESSION:
        return ""
    if session.is_closed:
        return f"It closed its ZooKeeper session at {times.at(session.over_ns)}, as in a clean shutdown. "
    lost = f"Its ZooKeeper session was lost: {_expiry(session, times)}"
    return f"{lost}; only then the controller moves a broker's leaders. "


def _expiry(session: EndedSession, times: Times) -> str:
    """When ZooKeeper received the last of a lost session, and when the session expired."""
    return (
        f"nothing came from it after {times.at(session.heard_ns)}, so that it expired at {times.at(session.over_ns)} "
        f"at the earliest (session timeout {duration(session.over_ns - session.heard_ns)})"
    )


def _doubt(failure: Failure) -> str:
    """What else would look the same in the capture."""
    hosts = {row.host for row in failure.states}
    if failure.kind not in _SEEN_AS_PATH or len(hosts) != 1 or failure.session is not None:
        return ""
    return f" Only {hosts.pop()} shows this: a firewall or a cut path between the two would look the same."


def _impact(failure: Failure, end_ns: int | None, times: Times) -> str:
    """Who stood still, and when the last was served again."""
    stalls = failure.stalls
    if not stalls:
        return _impact_without_stalls(failure)
    who = sorted({_who(stall) for stall in stalls})
    stood = f"{listed(who)} stood still, for {duration(max(s.waited_ms for s in stalls) * 1_000_000)} at the longest"
    if end_ns is None:
        return f"{stood}; somebody still did at the end of the capture."
    going_on = sorted({_who(stall) for stall in stalls if stall.stall_id in failure.outlasting})
    if going_on:
        return f"{stood}; {listed(going_on)} went on waiting because of a later incident."
    unserved = sorted({_who(stall) for stall in stalls if stall.served is False})
    if not unserved:
        return f"{stood}; the last was served again at {times.at(end_ns)}."
    gave_up = f"{listed(unserved)} gave up or ended without being served"
    again_ns = max((stall.to_ns for stall in stalls if stall.served and stall.to_ns is not None), default=None)
    if again_ns is None:
        return f"{stood}; {gave_up}, the last at {times.at(end_ns)}."
    return f"{stood}; the last was served again at {times.at(again_ns)}; {gave_up}."


def _earlier(failure: Failure) -> str:
    """Who stood still already when it failed."""
    who = sorted({_who(stall) for stall in failure.earlier_stalls})
    return f" {listed(who)} stood still already, and waited for it too." if who else ""


def _who(stall: Stall) -> str:
    """The group, the client id, or the client's address."""
    return str(stall.group_id or stall.client_id or stall.client_ip)


def _impact_without_stalls(failure: Failure) -> str:
    """Who could not work, as far as errors show it. Who lost a connection and asked for nothing later wanted
    nothing."""
    if failure.misuse is not None:
        return misuse_impact(failure.misuse)
    unserved = (r for r in failure.recoveries if r["outcome"] in UNSERVED)
    failed = {r["client_instance_id"] for r in unserved if not SERVER_CLOSED.issuperset(r["error_names"])}
    if failed:
        return f"{counted(len(failed), 'client')} could not work because of it."
    if failure.is_lossy:
        return "Requests and responses came late because of it, responses later than where they were captured."
    return f"Nobody{' else' if failure.earlier_stalls else ''} stood still because of it."


def _subject(failure: Failure) -> str:
    """What failed, as the begin of a sentence; names from the wire stay as they are."""
    of_ours = failure.subject.startswith(("node ", "group "))
    return failure.subject[:1].upper() + failure.subject[1:] if of_ours else failure.subject


def _down(failure: Failure, times: Times) -> str:
    how = "its connections ended together, and new ones were refused"
    if failure.closed_ns is None:
        return f"{_subject(failure)} was down {times.of(failure)}: {how}"
    return (
        f"{_subject(failure)} shut down from {times.at(failure.start_ns)} on and was down {times.of(failure)}: "
        f"other brokers took over what it led or coordinated, then {how}"
    )


def _silent(failure: Failure, times: Times) -> str:
    return f"{_subject(failure)} was silent {times.of(failure)}: no packet came from it while {_waiting(failure)}"


def _frozen(failure: Failure, times: Times) -> str:
    return (
        f"{_subject(failure)} was frozen {times.of(failure)}: its kernel acknowledged data, and the broker sent "
        f"nothing while {_waiting(failure)}"
    )


def _slow(failure: Failure, times: Times) -> str:
    return f"{_subject(failure)} was slow {times.of(failure)}: responses took at least ten times as long as usual"


def _path(failure: Failure, times: Times) -> str:
    hosts = listed(sorted(failure.hosts))
    if failure.is_lossy:
        between = f"Packets between {hosts} and {failure.subject} were lost {times.of(failure)}"
        return f"{between}: the same had to be sent again, several times in a row, before it arrived"
    if failure.is_only_from_broker:
        lost = f"Packets of {failure.subject} did not reach {hosts} {times.of(failure)}"
        other = f"{hosts} acknowledged none of them, while its own reached the broker"
        return f"{lost}: {other}, which served other hosts"
    how = {
        "silent": "it acknowledged nothing of what was sent to it",
        "refusing": "connections were refused",
        "down": "connections were refused",
    }
    states = {row.state for row in failure.states}
    what = " and ".join(dict.fromkeys(how[s] for s in sorted(states) if s in how)) or "no response came back"
    return f"{hosts} did not reach {failure.subject} {times.of(failure)}: {what}, while the broker served other hosts"


def _replication(failure: Failure, times: Times) -> str:
    nodes = {row.server_ip: row.node_id for row in failure.states if row.node_id is not None}
    hosts = [f"node {nodes[host]} ({host})" if host in nodes else host for host in sorted(failure.hosts)]
    both = f"{_subject(failure)} and {listed(hosts)}"
    return f"{both} did not reach each other {times.of(failure)}, while the broker served other hosts"


def _listener(failure: Failure, times: Times) -> str:
    why = "no connection was accepted there in the capture"
    return f"Nobody was served at {failure.subject} {times.of(failure)}: {why}"


def _member(failure: Failure, times: Times) -> str:
    gone = [member for rebalance in failure.rebalances for member in rebalance.lost]
    if gone:
        who = listed(sorted({d.client_id or d.member_id for d in gone}))
        if failure.root is not None:
            coordinator = f"the coordinator, {failure.root.subject}"
            return f"In {failure.subject}, {who} did not reach {coordinator}, and lost its place, {times.of(failure)}"
        return f"In {failure.subject}, {who} went away without leaving, {times.of(failure)}"
    if failure.stalls:
        return f"{_subject(failure)} rebalanced, and partitions were not read {times.of(failure)}"
    return f"Members of groups lost their place {times.of(failure)}"


def _lost_session(failure: Failure, times: Times) -> str:
    lost = f"{_subject(failure)} had no ZooKeeper session {times.of(failure)}"
    if failure.session is None:
        return lost
    then = "then the controller moves its leaders, although the broker is running"
    return f"{lost}: {_expiry(failure.session, times)}; {then}"


def _leader_move(failure: Failure, times: Times) -> str:
    return f"Leaders of {_resources(failure)} moved, or were not known, {times.of(failure)}{_why_moved(failure)}"


def _coordinator_move(failure: Failure, times: Times) -> str:
    coordinated = sorted({r["resource"] for r in failure.recoveries} - {PRODUCER_IDS}) or [failure.subject]
    if coordinated == [PRODUCER_IDS]:
        why = "brokers were still getting a block of them from the controller"
        return f"Idempotent producers waited for producer ids {times.of(failure)}: {why}"
    moved = f"The coordinator of {listed(coordinated)} moved, or was not ready"
    return f"{moved}, {times.of(failure)}{_why_moved(failure)}"


def _why_moved(failure: Failure) -> str:
    """The end of the session that the move follows."""
    session = failure.root.session if failure.root is not None else None
    if session is None:
        return ""
    how = "was closed" if session.is_closed else "expired"
    return f", after the ZooKeeper session of {session.subject} {how}"


def _permission(failure: Failure, times: Times) -> str:
    return f"Access to {failure.subject} was denied ({listed(sorted(failure.error_names))}) {times.of(failure)}"


def _missing_topic(failure: Failure, times: Times) -> str:
    numbers = [str(n) for n in partitions_of(failure.recoveries)]
    which = f" (partition{'s' if len(numbers) > 1 else ''} {listed(numbers)})" if numbers else ""
    what = f"{_subject(failure)}{which}"
    if is_of_group(failure.recoveries):
        what = f"A topic that group {failure.subject} commits offsets for"
    stale = names_of((r["client_id"], r["client_ip"]) for r in left_behind(failure) if is_about_id(r))
    still = f"; {listed(stale)} went on asking for the ID of the topic that was deleted" if stale else ""
    return f"{what} was not there ({listed(sorted(failure.error_names))}) {times.of(failure)}{still}"


def _quota(failure: Failure, times: Times) -> str:
    return f"A quota held back {failure.subject} {times.of(failure)}"


def _unexplained(failure: Failure, times: Times) -> str:
    kinds = {stall.kind for stall in failure.stalls}
    what = {
        "produce": "records were not accepted",
        "consume": "accepted records were not fetched",
        "commit": "offsets were not committed",
        "membership": "a member had no place in its group",
        "transaction": "a transaction did not go on",
        "metadata": "metadata did not come",
    }
    waited = " and ".join(what[kind] for kind in what if kind in kinds)
    errors = sorted({name for stall in failure.stalls for name in stall.error_names})
    why = f"the errors were {listed(errors)}" if errors else f"nothing in the capture shows why{_waited_on(failure)}"
    return f"{waited[:1].upper()}{waited[1:]} {times.of(failure)}; {why}{_waited_for(failure)}"


def _waited_on(failure: Failure) -> str:
    """The brokers that were waited on, where several stalls have one, those of most stalls first."""
    nodes = Counter(stall.node_id for stall in failure.stalls if stall.node_id is not None)
    if sum(nodes.values()) < _SEVERAL:
        return ""
    ordered = sorted(nodes, key=lambda node: (-nodes[node], node))
    return f" (stalls by the broker that was waited on: {', '.join(f'node {node}: {nodes[node]}' for node in ordered)})"


def _waited_for(failure: Failure) -> str:
    """What brokers waited for while they returned the errors, and which brokers did."""
    waiting = [(stall, name) for stall in failure.stalls for name in stall.error_names if name in WAITS_FOR]
    if not waiting:
        return ""
    nodes = sorted({stall.node_id for stall, _ in waiting if stall.node_id is not None})
    who = listed([f"node {node}" for node in nodes]) if nodes else "the broker"
    return f": {who} waited for {listed(sorted({WAITS_FOR[name] for _, name in waiting}))}"


def _resources(failure: Failure) -> str:
    return listed(sorted({r["resource"] for r in failure.recoveries}) or [failure.subject])


def _waiting(failure: Failure) -> str:
    n = len({row.host for row in failure.states})
    return f"{counted(n, 'host')} waited for one"


def _client(failure: Failure, times: Times) -> str:
    if failure.misuse is None:
        return _stood_still(failure, times)
    return f"{misuse_sentence(failure.misuse)} {times.of(failure)}"


def _stood_still(failure: Failure, times: Times) -> str:
    several = len(failure.silences) > 1
    n = sum(silence.n_connections for silence in failure.silences)
    heartbeat = duration(max(silence.heartbeat_ms for silence in failure.silences) * 1_000_000)
    return (
        f"Client{'s' if several else ''} {failure.subject} stood still {times.of(failure)}: no request came on any "
        f"of {'their' if several else 'its'} connections ({n}), although heartbeats were due every {heartbeat}, and "
        f"the host's kernel acknowledged what brokers sent{_removed(failure)}"
    )


def _removed(failure: Failure) -> str:
    """The groups that went on without the clients that stood still."""
    groups = sorted({rebalance.group_id for rebalance in failure.rebalances})
    return f"; {counted(len(groups), 'group')} removed a member for it: {listed(groups)}" if groups else ""


_WHAT: dict[str, Callable[[Failure, Times], str]] = {
    "broker_down": _down,
    "broker_silent": _silent,
    "broker_frozen": _frozen,
    "broker_slow": _slow,
    ZOOKEEPER_SESSION: _lost_session,
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
"""Kinds that cannot be distinguished from a failed path where one host alone sees them. A broker is frozen where its
kernel responds, so the path works."""
_STATES = "states of the broker, from the packets of its connections"
_KNOWN: dict[str, str] = {
    **dict.fromkeys(("broker_down", "broker_silent", "broker_frozen", "broker_slow", "path", "replication"), _STATES),
    ZOOKEEPER_SESSION: "the broker's ZooKeeper session",
    "listener": "attempts to connect",
    "member": "requests of the group's members, and its rebalances",
    **dict.fromkeys(("leader_move", "coordinator_move", "permission", "missing_topic", "quota"), "error codes"),
    "client": "packets of the client's connections around its silence: none of its process, some of its host's kernel",
    "unexplained": "times of requests and responses",
}
