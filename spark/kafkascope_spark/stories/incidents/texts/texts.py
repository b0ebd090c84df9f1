"""Texts that the sentences and the advice of several kinds of incidents share."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import median

from kafkascope_spark.stories.findings.wording import counted, duration, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.failure_facts import EndedSession
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.libraries import registry
from kafkascope_spark.stories.settings import setting, settings

BY_STATES = "states of hosts, from the packets of their connections"
INVALID_NAME = (
    "Correct the name of the topic: at most 249 letters, digits, dots, underscores and hyphens (a list of topics is no "
    "name). It cannot be created under this one."
)
BY_TIMES = "times of requests and responses"
BY_ERRORS = "error codes"
"""Evidence of all kinds of incidents that error codes show."""
ENDED_STATES = frozenset({"down", "refusing"})
"""States that begin with the end of connections, and not with a silence."""
LOST_STATES = frozenset({"flows_lost", "flow_dead"})
"""States in which connections were lost although neither side closed them."""
LINK_COUNTERS = "ip -s link, ethtool -S"
QUEUES = "full queues and rate limits (tc -s qdisc)"
"""Counters of packets that a link dropped, in words."""
MOST_COMMANDS = 5
TOO_FEW_REPLICAS = frozenset({"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"})
KIP_800 = "poll timeout"
"""Part of the reason that Java clients give in LeaveGroup when the application did not poll in time (KIP-800)."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """Durations after a failure, which was at failed_ns. cluster_ns: until the cluster first reacted; clients_ns: from
    then until the last client was served."""

    failed_ns: int
    cluster_ns: int
    clients_ns: int


def named(failure: Failure) -> str:
    """Returns the subject of a failure as the begin of a sentence; names from the wire are not capitalized."""
    of_ours = failure.subject.startswith(("node ", "group "))
    return failure.subject[:1].upper() + failure.subject[1:] if of_ours else failure.subject


def held_consumers(failure: Failure) -> str:
    """Returns how many consumers of committed records waited behind open transactions, and for how long; empty if
    none."""
    consumers = {reader.client_instance_id for row in failure.left_open for reader in row.held_back}
    longest = f" for {duration(failure.waited_ms * 1_000_000)}" if failure.waited_ms else ""
    return f"{counted(len(consumers), 'consumer')}{longest}" if consumers else ""


def late(failure: Failure) -> str:
    """Returns how many of the awaited responses were late, and by how much."""
    slow = failure.responses.latencies.total()
    return (
        f"{slow.n_late:,} of {counted(slow.n, 'response')} that a client waited for took half a second or longer, up "
        f"to {duration(slow.longest_ns)}"
    )


def lost_flows(failure: Failure, between: str) -> str:
    """Returns how many connections were lost, and how, as the begin of a sentence. between: their ends, in words."""
    n = sum(state.n_waiting for state in failure.states if state.state in LOST_STATES)
    how = "without being closed by either side: their packets stopped, or a RST answered the next one"
    return f"{counted(n, 'connection')} between {between}, all that were in use, ended {how},"


def restarts(failure: Failure, times: Times) -> str:
    """Returns how often the broker's process began during the failure, and when, as the end of a sentence; empty if it
    began once or less often."""
    starts = [restart.registered_ns for restart in failure.process.starts]
    if len(starts) < 2:
        return ""
    registered = f"it registered with the controller at {listed([times.at(at_ns) for at_ns in starts])}"
    return f"; its process began {len(starts)} times: {registered}"


def look_at_link(who: str) -> str:
    """Returns the advice for the link of a host or broker that lost packets."""
    return (
        f"Look at the network of {who} for that time: errors and drops of its interface and of the switch port "
        f"({LINK_COUNTERS}), {QUEUES}, the bandwidth that it may use."
    )


def late_by(failure: Failure) -> str:
    """Returns how late acknowledgments came, and from which side."""
    rows = [row for row in failure.states if row.late_ms is not None]
    middle_ms = int(median([row.late_ms or 0 for row in rows] or [0]))
    sides = frozenset(str(row.unacknowledged) for row in rows)
    whose = {frozenset({"host"}): "the broker's ", frozenset({"broker"}): "the hosts' "}.get(sides, "")
    return (
        f"{whose}acknowledgments, which kernels send by themselves, came about {middle_ms} ms after the data that "
        "they acknowledge, and hardly any came sooner"
    )


def expiry(session: EndedSession, times: Times) -> str:
    """Returns when ZooKeeper last received something in a lost session, and when the session expired."""
    return (
        f"nothing came from it after {times.at(session.heard_ns)}, so that it expired at {times.at(session.over_ns)} "
        f"at the earliest (session timeout {duration(session.over_ns - session.heard_ns)})"
    )


def why_moved(failure: Failure) -> str:
    """Returns which ended ZooKeeper session caused the move; empty if none did."""
    session = failure.root.process.session if failure.root is not None else None
    if session is None:
        return ""
    how = "was closed" if session.is_closed else "expired"
    return f", after the ZooKeeper session of {session.subject} {how}"


def resources(failure: Failure) -> str:
    """Returns the resources of the recoveries as a list in words."""
    return listed(sorted({r.resource for r in failure.recoveries}) or [failure.subject])


def hosts_waiting(failure: Failure) -> str:
    """Returns how many hosts waited for something from the broker."""
    n = len({row.host for row in failure.states})
    return f"{counted(n, 'host')} waited for it"


def lower(
    concepts: Collection[str], observed: Observed, gain: str, seen: Callable[[str], str] = lambda _: ""
) -> Iterator[Action]:
    """Yields advice for the clients of each library: with lower values of some settings they do something sooner.
    Libraries without these settings are left out. gain: what clients do sooner, in words; seen: returns the present
    value as the capture shows it, by library."""
    known = [library for library in registry.LIBRARIES if library.name in observed.libraries]
    for library in known:
        if names := settings(concepts, (library.name,), defaults=True):
            who = f"{library.shown}: {listed(observed.names_of_library(library.name))}"
            yield clients(f"They {gain} sooner with lower {names}{seen(library.name)}.", who)
    if not known and (names := settings(concepts, (), defaults=True)):
        yield clients(f"Clients {gain} sooner with lower {names}.")


def faster(observed: Observed) -> Iterator[Action]:
    """Yields advice on how clients notice a silent broker sooner, with the time that they needed."""

    def seen(library: str) -> str:
        waited_ms = observed.given_up_ms(library)
        return "" if waited_ms is None else f"; now they gave up a request after {duration(waited_ms * 1_000_000)}"

    return lower(("request_timeout", "connect_timeout"), observed, "notice an unresponsive broker", seen)


def reaction(failure: Failure) -> Reaction | None:
    """Returns how the time until the last client was served divides; None if the course does not show it."""
    failed = [at for at, each in enumerate(failure.course) if each.step == "failed"]
    first = failure.course[: failed[1] if len(failed) > 1 else None]  # of one that failed several times
    at = {step: [each.ts_ns for each in first if each.step == step] for step in ("failed", "detected", "served")}
    if not all(at.values()):
        return None
    failed_ns, detected_ns = at["failed"][0], at["detected"][0]
    return Reaction(failed_ns, max(detected_ns - failed_ns, 0), max(at["served"][-1] - detected_ns, 0))


def lacked_replicas_ns(failure: Failure) -> int:
    """Returns the longest time in which brokers refused writes because fewer replicas than min.insync.replicas were in
    sync."""
    refused = (row for row in failure.recoveries if TOO_FEW_REPLICAS.intersection(row.error_names))
    return max((row.last_failed_ns - row.start_ns for row in refused), default=0)


def sooner(failure: Failure, by_cluster: Iterable[str], by_clients: Iterable[Action]) -> Iterator[Action]:
    """Yields the advice that lets clients be served sooner: that for the cluster or that for the clients, whichever
    took longer; both if the course does not show it. Yields nothing if clients had to wait for replicas, and nothing
    for clients if a later failure kept them waiting."""
    if failure.outlasting:
        yield from map(brokers, by_cluster)
        return
    known = reaction(failure)
    if known is None or known.cluster_ns + known.clients_ns == 0:
        yield from (*map(brokers, by_cluster), *by_clients)
        return
    whole = f"Of the {duration(known.cluster_ns + known.clients_ns)} until the last client was served"
    if known.cluster_ns >= known.clients_ns:
        yield brokers(f"{whole}, the cluster took {duration(known.cluster_ns)} to react.")
        absent_ns = failure.process.without_controllers_ns
        if 2 * absent_ns >= known.cluster_ns:
            by_cluster = [f"For {duration(absent_ns)} of that its controllers did not work: see why first."]
        yield from map(brokers, by_cluster)
        return
    if 2 * lacked_replicas_ns(failure) >= known.clients_ns:
        yield brokers(
            f"For {duration(lacked_replicas_ns(failure))} writes were refused because fewer replicas were in sync than "
            "min.insync.replicas: no setting of the clients would have had them served before a replica was back. A "
            "topic takes writes while so many brokers are away as it has replicas above min.insync.replicas."
        )
        return
    took = f"{whole}, clients took {duration(known.clients_ns)} after the cluster had reacted."
    for number, action in enumerate(by_clients):
        yield replace(action, text=f"{took} {action.text}") if number == 0 else action


def sooner_fenced(failure: Failure) -> str:
    """Returns the setting with which the controller moves the leaders of an unreachable broker sooner."""
    if failure.process.session is not None and not failure.process.session.is_closed:
        return f"{sooner_by_session(failure.process.session)}."
    return (
        "A lower broker.session.timeout.ms (default 9000; in a cluster with ZooKeeper zookeeper.session.timeout.ms, "
        "default 18000) moves its leaders sooner."
    )


def under_replicated(observed: Observed) -> str:
    """Returns the command that lists under-replicated partitions."""
    return f"kafka-topics.sh {observed.tool} --describe --under-replicated-partitions"


def sooner_by_session(session: EndedSession) -> str:
    """Returns the setting that moves the leaders of a broker with a lost ZooKeeper session sooner. Its default:
    KIP-537."""
    now = "default 18000, of Kafka 2.4 and older 6000" if session.timeout_ms is None else f"now {session.timeout_ms}"
    return f"A lower zookeeper.session.timeout.ms of the brokers ({now}) moves a lost broker's leaders sooner"


def slow_polls(libraries: Collection[str], poll_ms: int | None = None) -> str:
    """Returns the advice for polls that take longer than allowed. poll_ms: the allowed time."""
    fewer = setting("poll_records", libraries)
    smaller = f"a smaller {fewer}, or " if fewer else ""
    longer = f"{setting('poll_interval', libraries)}{now(poll_ms)}"
    return f"Let the application poll more often: {smaller}a larger {longer}; move slow work out of the poll loop."


def fewer_at_once(libraries: Collection[str]) -> str:
    """Returns the advice for polls that take long, but not longer than allowed."""
    fewer = setting("poll_records", libraries)
    smaller = f"; a smaller {fewer} lets it poll more often" if fewer else ""
    return (
        "Look at what the application does with each batch of records (a slow call to another system, retries, a long "
        f"garbage collection): more consumers, or work outside of the poll loop, shorten the wait{smaller}."
    )


def now(value_ms: int | None) -> str:
    """Returns the present value of a setting in brackets; empty if it is not known."""
    return "" if value_ms is None else f" (now {value_ms})"
