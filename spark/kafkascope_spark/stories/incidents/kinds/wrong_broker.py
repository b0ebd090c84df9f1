"""An address behind which another broker answers than the one that it is advertised for.

Looks at NOT_LEADER_OR_FOLLOWER while Metadata goes on naming the same leader: of a broker that serves the same
topic-partition on other connections to its address, again and again; or at an address that is not that of one broker,
where NOT_COORDINATOR counts too, if it goes on after FindCoordinator; or of another broker than the one that Metadata
names to the client all the time: the client has an address of it from before the brokers started again elsewhere.
Could be confused with a leader that moves: then Metadata names another one; and with brokers that disagree (no_leader):
then no connection is served.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from kafkascope_spark.stories.findings.wording import client, counted, listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, resources
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

NOT_THERE = frozenset({"NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"})
LEAST = 2
"""Once, a broker may have been slow to take over what Metadata said that it leads."""


def of_wrong_broker(recoveries: Collection[ClientRecovery], moved: Collection[str] = ()) -> set[str]:
    """The recoveries (recovery_id) from requests that reached another broker than the one whose address they went
    to. Where one shows an address of several brokers, the others follow from that: also those that the capture shows
    behind it, where the load balancer's own connections are in it. moved: those meanwhile another node led, which show
    it only where Metadata sent their clients there."""
    astray = {row.recovery_id for row in recoveries if _goes_astray(row)}
    stayed = [row for row in recoveries if row.recovery_id not in moved]
    met = [row for row in stayed if _is_elsewhere(row) or (_leader_stayed(row) and _is_served_anew(row))]
    n_of_node = Counter(row.old_node_id for row in met)
    if n_of_node[None]:
        return astray | {row.recovery_id for row in stayed if row.first_error_name in NOT_THERE}
    return astray | {row.recovery_id for row in met if n_of_node[row.old_node_id] >= LEAST}


def _goes_astray(recovery: ClientRecovery) -> bool:
    """Whether the client went on asking another node than the one that Metadata named to it all the time."""
    named = {report.leader_id for report in recovery.leader_reports}
    is_other = recovery.old_node_id is not None and recovery.old_node_id not in named
    is_refused_there = "UNKNOWN_LEADER_EPOCH" in recovery.error_names  # it asks the leader, too
    return is_other and not is_refused_there and recovery.n_errors >= LEAST and _leader_stayed(recovery)


def _leader_stayed(recovery: ClientRecovery) -> bool:
    """Whether Metadata named one leader all the time, and the client was refused for a second or longer after that."""
    named = recovery.leader_reports
    return (
        recovery.first_error_name == "NOT_LEADER_OR_FOLLOWER"
        and len({report.leader_id for report in named}) == 1
        and recovery.last_failed_ns - min(report.first_ns for report in named) >= SECOND
    )


def _is_elsewhere(recovery: ClientRecovery) -> bool:
    """Whether the requests went to an address that is not that of one broker, though the client knew whom to ask."""
    if recovery.old_node_id is not None:
        return False
    if recovery.first_error_name == "NOT_COORDINATOR":
        asked_ns = recovery.rediscovered_ns
        return asked_ns is not None and recovery.last_failed_ns - asked_ns >= SECOND
    return _leader_stayed(recovery)


def _is_served_anew(recovery: ClientRecovery) -> bool:
    """Whether the same node served it at last, which is the leader, on another connection."""
    leaders = {report.leader_id for report in recovery.leader_reports}
    if recovery.recovered_ns is None or not leaders == {recovery.old_node_id} == {recovery.new_node_id}:
        return False
    connections = [each.rpartition("-")[0] for each in recovery.evidence]
    return bool(connections) and connections[0] != connections[-1]


def _sentence(failure: Failure, times: Times) -> str:
    n = sum(row.n_errors for row in failure.recoveries)
    refused = f"answered {listed(sorted(failure.error_names))} {times_of(n)}, {times.of(failure)}"
    named = sorted({f"node {report.leader_id}" for row in failure.recoveries for report in row.leader_reports})
    if _are_astray(failure):
        who = listed(sorted({client(row.client_id, row.client_ip) for row in failure.recoveries}))
        asked = listed(sorted({f"node {row.old_node_id}" for row in failure.recoveries}))
        return (
            f"Requests of {who} to {asked} for {resources(failure)} were {refused}, while Metadata still named "
            f"{listed(named)} as the leader: no leader moved. The address that the client uses for {listed(named)} "
            f"now belongs to {asked}, or the client ignores the leader that Metadata names"
        )
    if any(row.old_node_id is None for row in failure.recoveries):
        whom = f", while Metadata still named {listed(named)} as leaders: no leader moved" if named else ""
        return f"Requests for {resources(failure)} were {refused}, at an address that belongs to no single broker{whom}"
    return (
        f"Requests for {resources(failure)} to {listed(named)} were {refused}, while Metadata still named "
        f"{listed(named)} as the leader, which served them on other connections to the same address: on "
        f"{counted(len(failure.recoveries), 'connection')} another broker answered"
    )


def _are_astray(failure: Failure) -> bool:
    return all(_goes_astray(row) for row in failure.recoveries)


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    if _are_astray(failure):
        yield clients(
            "Brokers that start again elsewhere (pods, for example) have other addresses: restart the client, so "
            "that it resolves their names again, and check what keeps old addresses (networkaddress.cache.ttl of "
            "the JVM, a cache of DNS, a hosts file). If this continues with the right address, the client ignores "
            "the leader that Metadata names: update its library."
        )
        return
    yield brokers(
        "Give each broker an advertised.listeners entry of its own, behind which no other broker answers (a host name, "
        "or a port for each broker on the load balancer): see what stands in front of these addresses, a load "
        "balancer, a virtual IP, a Kubernetes service, and which brokers it sends connections to. A shared address is "
        "good for bootstrapping only."
    )
    yield clients(
        "Nothing has to change: they use the broker that Metadata names. Refreshing metadata sooner does not help."
    )


WRONG_BROKER = Kind(
    "wrong_broker",
    "address leads to another broker",
    plural="addresses lead to other brokers",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="listener",
    lasting=True,
    own_clients=True,
)
