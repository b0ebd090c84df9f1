"""What to change about an incident: complete commands and settings, with the values that the capture shows.

Settings of clients have the names of the client libraries that were affected (settings.py). Commands are those of
Kafka 4.x (and 3.x), with a broker that served clients in the capture. Names from the wire are quoted for a shell.
"""

import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any

from kafkascope_analyzer.dataset.stories.rebalances import DepartedMember
from kafkascope_spark.stories.findings.wording import duration, listed
from kafkascope_spark.stories.incidents.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.broker_failures import ENDED_STATES
from kafkascope_spark.stories.incidents.failure import EndedSession, Failure
from kafkascope_spark.stories.incidents.misconfigured_texts import what_fits
from kafkascope_spark.stories.incidents.observed import NO_SERVER, Observed, address, names_of
from kafkascope_spark.stories.incidents.other_failures import held_back, is_about_id, left_behind
from kafkascope_spark.stories.incidents.permissions import MOST_COMMANDS, grants
from kafkascope_spark.stories.incidents.topics import is_of_group
from kafkascope_spark.stories.recoveries.resources import PRODUCER_IDS
from kafkascope_spark.stories.settings import ORDER, setting, settings

Row = dict[str, Any]

_ROUND_MS = 1_000
"""Suggested times are multiples of it."""


def advice_for(failure: Failure, observed: Observed) -> str:
    """What to change."""
    return " ".join(part for part in _ADVICE[failure.kind](failure, observed) if part)


def lower(concepts: Collection[str], libraries: Collection[str], gain: str, observed: str = "") -> str:
    """A sentence: clients do something sooner with lower values of these settings; empty where their libraries have
    none of them."""
    names = settings(concepts, libraries, defaults=True)
    return f"Clients {gain} sooner with lower {names}{observed}." if names else ""


def _faster(observed: Observed) -> str:
    """How clients notice a broker that is silent sooner, and after what time they did."""
    gave_up = [
        f"{'Java' if library == 'java' else library} clients after {duration(waited * 1_000_000)}"
        for library in ORDER
        if (waited := observed.given_up_ms(library)) is not None
    ]
    seen = f"; requests without a response were given up by {', '.join(gave_up)}" if gave_up else ""
    return lower(
        ("request_timeout", "connect_timeout"), observed.libraries, "notice a broker that does not respond", seen
    )


def _under_replicated(observed: Observed) -> str:
    return f"kafka-topics.sh {observed.tool} --describe --under-replicated-partitions"


def _broker_down(failure: Failure, observed: Observed) -> Iterable[str]:
    session = failure.session
    wait = f"and wait until no partition is under-replicated: {_under_replicated(observed)}."
    if failure.closed_ns is not None or (session is not None and session.is_closed):
        yield f"It shut down in order, as for a restart. Restart brokers one at a time, {wait}"
    else:
        yield f"Look at the log of {failure.subject} and at its host for that time."
        yield "If it was restarted on purpose, restart brokers one at a time with controlled.shutdown.enable=true,"
        yield wait
    if session is not None and not session.is_closed:
        yield f"{_sooner_by_session(session)}."
    yield lower(("reconnect_backoff", "metadata_age"), observed.libraries, "come back")


def _sooner_by_session(session: EndedSession) -> str:
    """The setting that moves the leaders of a broker without a ZooKeeper session sooner. Its default: KIP-537."""
    now = "default 18000, of Kafka 2.4 and older 6000" if session.timeout_ms is None else f"now {session.timeout_ms}"
    return f"A lower zookeeper.session.timeout.ms of the brokers ({now}) moves a lost broker's leaders sooner"


def _zookeeper_session(failure: Failure, _: Observed) -> Iterable[str]:
    yield (
        f"Look at what kept {failure.subject} from ZooKeeper for that time: a long garbage collection of the broker "
        "(-Xlog:gc*), the network between the two, ZooKeeper's own log and disk (fsync warnings)."
    )
    timeout_ms = None if failure.session is None else failure.session.timeout_ms
    now = "" if timeout_ms is None else f" (now {timeout_ms})"
    yield f"A higher zookeeper.session.timeout.ms of the brokers{now} keeps a broker registered through longer pauses."


def _broker_silent(failure: Failure, observed: Observed) -> Iterable[str]:
    yield f"Look at the host and the network of {failure.subject} for that time: link, power, hypervisor, firewall."
    replicas = (
        "A lower replica.lag.time.max.ms of the brokers (default 30000) lets leaders drop a silent replica sooner"
    )
    if failure.session is not None and not failure.session.is_closed:
        yield f"{replicas}. {_sooner_by_session(failure.session)}."
    else:
        yield (
            f"{replicas}, a lower broker.session.timeout.ms (default 9000; in a cluster with ZooKeeper "
            "zookeeper.session.timeout.ms, default 18000) moves its leaders sooner."
        )
    yield _faster(observed)


def _broker_frozen(failure: Failure, observed: Observed) -> Iterable[str]:
    yield (
        f"Look at the process of {failure.subject} for that time: a long garbage collection (-Xlog:gc*), a disk that "
        "does not respond (iostat -x 1), swapping, a stopped container or virtual machine."
    )
    yield _faster(observed)


def _broker_slow(failure: Failure, _: Observed) -> Iterable[str]:
    yield (
        f"Look at the load of {failure.subject} for that time: disk (iostat -x 1), request queue and handler threads "
        "(RequestQueueTimeMs, RequestHandlerAvgIdlePercent; num.io.threads, num.network.threads)."
    )


def _path(failure: Failure, observed: Observed) -> Iterable[str]:
    between = f"{listed(sorted(failure.hosts), MOST_COMMANDS)} and {failure.server or failure.subject}"
    if failure.is_lossy:
        yield (
            f"Look for what drops packets between {between}: errors and drops of network interfaces (ip -s link, "
            "ethtool -S), full queues and rate limits (tc -s qdisc), the limits of virtual machines and middleboxes."
        )
        return
    yield f"Look at what lies between {between}: firewall rules, security groups, NAT, routes."
    yield "The broker itself worked."
    if any(state.state not in ENDED_STATES for state in failure.states):
        yield _faster(observed)
    else:
        yield lower(("reconnect_backoff",), observed.libraries, "come back")


def _replication(failure: Failure, observed: Observed) -> Iterable[str]:
    yield f"Look at the network between the brokers: they did not reach each other at {failure.server}."
    yield (
        "A lower replica.lag.time.max.ms of the brokers (default 30000) lets a leader drop a replica that does not "
        f"fetch sooner. What lacks replicas: {_under_replicated(observed)}; what takes no writes with acks=all: "
        f"kafka-topics.sh {observed.tool} --describe --under-min-isr-partitions."
    )


def _listener(failure: Failure, observed: Observed) -> Iterable[str]:
    server = failure.server or NO_SERVER
    reached = sorted({s for c in observed.clients for s in (*c.servers, *c.secured_servers)} - failure.servers)
    if observed.is_advertised(failure.servers) or not observed.clients:
        yield f"Brokers advertise {failure.subject} (advertised.listeners); no connection was accepted there."
    else:
        names = setting("bootstrap", observed.libraries)
        yield f"Metadata did not name {server} in the capture: it stands in {names} of these clients, or did before."
    if reached:
        yield f"The same clients reached {listed(reached)}."
    yield (
        "Let each broker's advertised.listeners name an address that these clients reach, or open the way to "
        f"{failure.subject}. To check, from a client's host: kafka-broker-api-versions.sh --bootstrap-server "
        f"{address(server)}"
    )


def _leader_move(_: Failure, observed: Observed) -> Iterable[str]:
    yield "None, if leaders were moved on purpose."
    yield lower(("metadata_age", "retry_backoff"), observed.libraries, "notice")


def _coordinator_move(failure: Failure, observed: Observed) -> Iterable[str]:
    if failure.resources == {PRODUCER_IDS}:
        yield "None: the producers ask again by themselves."
        return
    yield "None, if brokers were restarted on purpose."
    groups = {r["resource"] for r in failure.recoveries if r["resource_kind"] in ("group", "coordinator")}
    groups &= {stall.group_id for stall in failure.stalls}
    commands = [
        f"kafka-consumer-groups.sh {observed.tool} --describe --state --group {shlex.quote(group)}"
        for group in sorted(groups)[:MOST_COMMANDS]
    ]
    if commands:
        yield f"Who coordinates now: {'; '.join(commands)}"


def _member(failure: Failure, observed: Observed) -> Iterable[str]:
    departed = observed.departed
    others = settings(("instance_id", "cooperative"), observed.libraries)
    reads_on = f"With {others} the other members read on meanwhile." if others else ""
    if failure.rebalances and not departed:
        yield (
            "No member went away without leaving: the rebalance lasted until its slowest member had stopped reading "
            "and joined again, or had left."
        )
        yield reads_on
        return
    who = listed(sorted({d.client_id or d.member_id for d in departed}))
    ran_on = bool(departed) and all(_runs_on(d, observed) for d in departed)
    if failure.root is not None:
        yield f"{who} did not reach {failure.root.subject}: see the incident that this one follows from."
    elif ran_on:
        yield f"Find out why {who} was silent: a pause of its process, its host or its network."
    else:
        yield "Let consumers leave (close()) when they stop."
    silent_ms = max((d.silent_ms or 0 for d in departed), default=0)
    if silent_ms:
        yield f"Members were silent for up to {silent_ms} ms."
    protocol = next((p for c in observed.clients if (p := c.group_protocol) in _BROKER_SESSIONS), None)
    if protocol is not None:
        groups = {row.group_id for row in failure.rebalances}
        groups |= {stall.group_id for stall in failure.stalls if stall.group_id}
        yield from _session_of_broker(groups, observed, silent_ms, protocol=protocol, ran_on=ran_on)
        return
    yield _session_of_client(observed, silent_ms, ran_on=ran_on)
    yield reads_on


def _runs_on(departed: DepartedMember, observed: Observed) -> bool:
    client = observed.client(departed.client_instance_id)
    return client is not None and client.end_state == "open"


_BROKER_SESSIONS = ("consumer", "share", "streams")
"""Group protocols whose session timeout is a setting of brokers and groups (KIP-848, KIP-932, KIP-1071)."""
_LOWER = "hands the partitions of a dead member over sooner"
_HIGHER = "keeps members in that are silent for so long"


def _session_of_client(observed: Observed, silent_ms: int, *, ran_on: bool) -> str:
    """The session timeout that clients of classic groups set: its value, and what it should be."""
    timeouts = {d.session_timeout_ms for d in observed.departed}
    timeouts |= {client.session_timeout_ms for client in observed.clients}
    now_ms = max((t for t in timeouts if t), default=None)
    name = setting("session_timeout", observed.libraries, defaults=now_ms is None)
    now = "" if now_ms is None else f", now {now_ms} ms,"
    heartbeat = setting("heartbeat_interval", observed.libraries)
    if ran_on and silent_ms:
        return f"A {name}{now} of {_rounded_up(silent_ms)} ms {_HIGHER}; keep {heartbeat} at a third of it or less."
    return f"A lower {name}{now} {_LOWER}; keep {heartbeat} at a third of it or less."


def _session_of_broker(
    groups: Collection[str], observed: Observed, silent_ms: int, *, protocol: str, ran_on: bool
) -> Iterable[str]:
    """The session timeout that brokers set for groups of the protocol."""
    aim = _HIGHER if ran_on and silent_ms else _LOWER
    yield (
        f"A {'higher' if aim is _HIGHER else 'lower'} session timeout {aim}; brokers set it "
        f"(group.{protocol}.session.timeout.ms, not below group.{protocol}.min.session.timeout.ms)"
    )
    value = _rounded_up(silent_ms if aim is _HIGHER else silent_ms // 2) or "MS"
    commands = [
        f"kafka-configs.sh {observed.tool} --alter --entity-type groups --entity-name {shlex.quote(group)} "
        f"--add-config {protocol}.session.timeout.ms={value}"
        for group in sorted(groups)[:MOST_COMMANDS]
    ]
    yield f"for all groups, and for one: {'; '.join(commands)}" if commands else "for all groups."


def _rounded_up(ms: int) -> int:
    return -(-ms // _ROUND_MS) * _ROUND_MS


def _client(failure: Failure, observed: Observed) -> Iterable[str]:
    return _stood_still(failure, observed) if failure.misuse is None else what_fits(failure.misuse, observed)


def _stood_still(failure: Failure, observed: Observed) -> Iterable[str]:
    yield (
        f"Look at the process and the host of {failure.subject} for that time: a long garbage collection (Java: "
        "-Xlog:gc*), a stopped process, container or virtual machine (SIGSTOP, a debugger, a snapshot), a CPU limit "
        "(cpu.stat: nr_throttled), swapping; in a client with one event loop, a handler that does not return."
    )
    if not failure.rebalances:
        return
    silent_ms = max(((s.to_ns or s.from_ns) - s.from_ns) // 1_000_000 for s in failure.silences)
    groups: dict[str | None, set[str]] = defaultdict(set)
    for silence in failure.silences:
        client = observed.client(silence.client_instance_id)
        protocol = None if client is None else client.group_protocol
        groups[protocol if protocol in _BROKER_SESSIONS else None].update(silence.groups)
    for protocol in sorted(groups, key=str):
        if protocol is None:
            yield _session_of_client(observed, silent_ms, ran_on=True)
        else:
            yield from _session_of_broker(groups[protocol], observed, silent_ms, protocol=protocol, ran_on=True)


def _permission(failure: Failure, observed: Observed) -> Iterable[str]:
    yield f"Grant what was denied: {'; '.join(grants(failure, observed))}"


def _missing_topic(failure: Failure, observed: Observed) -> Iterable[str]:
    if is_of_group(failure.recoveries):
        command = f"kafka-consumer-groups.sh {observed.tool} --describe --group {shlex.quote(failure.subject)}"
        yield f"See which topics it commits offsets for, and whether all of them exist: {command}"
        return
    command = f"kafka-topics.sh {observed.tool} --create --topic {shlex.quote(failure.subject)}"
    lost = "its records are gone, and offsets that groups committed are not those of the new topic"
    if failure.end_ns is None:
        yield f"Create the topic, or correct its name in the client: {command}"
        return
    behind = left_behind(failure)
    uses_old_id = any(is_about_id(row) for row in behind)
    if uses_old_id:
        yield f"It was deleted and created again: {lost}. Find out who deletes it."
    else:
        yield f"It was there later. Create topics before clients need them ({command})."
        yield f"Or, if clients had used it before, find out who deletes it: {lost}."
    if behind:
        why = "the ID of the deleted topic is still in use there" if uses_old_id else "it was not used again there"
        yield f"Restart {listed(names_of((r['client_id'], r['client_ip']) for r in behind))}: {why}."


_QUOTAS = {"Produce": "producer_byte_rate", "Fetch": "consumer_byte_rate"}
"""The quota that holds back requests of an API."""


def _quota(failure: Failure, observed: Observed) -> Iterable[str]:
    apis = held_back(failure)
    rates = ",".join(f"{quota}=RATE" for api, quota in _QUOTAS.items() if api in apis)
    entities = sorted({entity for client in observed.clients if (entity := _quota_entity(client))})
    kinds = {"users" if client.principal else "clients" for client in observed.clients} or {"clients"}
    shown = (f"kafka-configs.sh {observed.tool} --describe --entity-type {kind}" for kind in sorted(kinds))
    yield f"What the quotas are, which each broker applies by itself: {'; '.join(shown)}."
    if rates and entities:
        raised = (f"kafka-configs.sh {observed.tool} --alter {entity} --add-config {rates}" for entity in entities)
        yield f"To raise them: {'; '.join(list(raised)[:MOST_COMMANDS])}."
    less = settings(("compression", "fetch_min"), observed.libraries)
    yield f"Or let them ask for less: {less}." if less else ""


def _quota_entity(client: AffectedClient) -> str:
    """The options of kafka-configs.sh for the quotas of a client: of its user, where the capture shows one."""
    if client.principal:
        return f"--entity-type users --entity-name {shlex.quote(client.principal.removeprefix('User:'))}"
    if client.client_id:
        return f"--entity-type clients --entity-name {shlex.quote(client.client_id)}"
    return ""


def _unexplained(_: Failure, observed: Observed) -> Iterable[str]:
    who = names_of((client.client_id, client.client_ip) for client in observed.clients)
    logs = f" and of {listed(who)}" if who else ""
    yield f"Look at the logs of the brokers{logs} for that time; capture the traffic between brokers too."


_ADVICE: dict[str, Callable[[Failure, Observed], Iterable[str]]] = {
    "broker_down": _broker_down,
    "broker_silent": _broker_silent,
    "broker_frozen": _broker_frozen,
    "broker_slow": _broker_slow,
    "zookeeper_session": _zookeeper_session,
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
