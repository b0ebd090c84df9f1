"""Confidence in the place of a failure: other places that would look the same, unless requests that were served exclude
them.

Two observations prove a place between hosts and servers: other servers served the same hosts, and the same servers, or
other servers, served other hosts. If one of them is missing, the capture cannot tell the place from another one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.packets.contrast import LONGEST_NS, Contrast, Question
from kafkascope_spark.stories.incidents.table import Alternative, Confidence, Place
from kafkascope_spark.stories.servers.table import BrokerState

_SHOWN_BY_KERNEL = frozenset({"frozen", "not_reading", "turned_away", "not_accepting"})
"""States in which packets of the server arrive: the path works, and so do the hosts."""
_ENDED = frozenset({"down", "refusing"})
"""States that are shown by packets of the server, which a firewall may have sent in its place."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """Another place that may have failed instead. what: returns the place in words; is_excluded: returns whether the
    capture shows that it did not fail; decided_by: what would decide between the places, in words."""

    place: Place
    what: Callable[[Failure], str]
    is_excluded: Callable[[Failure, Contrast], bool]
    decided_by: str


def localize(
    failures: Sequence[Failure],
    states: Iterable[BrokerState],
    ask: Callable[[Sequence[Question]], list[Contrast]],
) -> None:
    """Sets the contrast, the confidence and the alternatives of each failure with a place between hosts and servers.
    states: rows of broker_states; ask: returns who was served."""
    brokers = frozenset(row.host for row in states if row.host_kind != "client")
    on_grid = [(failure, suspects) for failure in failures if (suspects := _suspects(failure))]
    questions = [_question(failure, brokers) for failure, _ in on_grid]
    lost = _lost_servers(failures)
    for (failure, suspects), question, contrast in zip(on_grid, questions, ask(questions), strict=True):
        contrast.servers_beside -= set(_failed_too(contrast.servers_beside, lost, question))
        failure.contrast = contrast
        left = [suspect for suspect in suspects if not suspect.is_excluded(failure, contrast)]
        elsewhere = [suspect for suspect in suspects if suspect.place != failure.kind.place]
        failure.confidence = _confidence(len(elsewhere), len(set(left).intersection(elsewhere)))
        failure.alternatives = tuple(
            Alternative(suspect.place, suspect.what(failure), suspect.decided_by) for suspect in left
        )


def _confidence(n_suspects: int, n_left: int) -> Confidence:
    if n_left == 0:
        return "confirmed"
    return "likely" if n_left < n_suspects else "possible"


def _suspects(failure: Failure) -> tuple[Suspect, ...]:
    """Returns the other places that may have failed. Empty if no packets show the failure, but only errors that brokers
    or clients report."""
    place = failure.kind.place if failure.states or failure.lookups else None
    return () if place is None else _SUSPECTS.get(place, ())


def _lost_servers(failures: Iterable[Failure]) -> dict[str, Stretches[None]]:
    """Returns the times in which brokers failed for everybody, by broker_key."""
    found: dict[str, list[tuple[int, int, None]]] = defaultdict(list)
    for failure in failures:
        if failure.is_of_broker and failure.kind.cuts_clients:
            for row in failure.states:
                if _is_of(failure, row):
                    found[row.broker_key].append((row.from_ns, row.until_ns, None))
    return {key: Stretches(times) for key, times in found.items()}


def _failed_too(servers: Iterable[str], lost: Mapping[str, Stretches[None]], question: Question) -> Iterator[str]:
    """Yields the servers that failed themselves for half of the examined time: the requests that they still served
    prove nothing."""
    until_ns = min(question.to_ns, question.from_ns + LONGEST_NS)
    for server in servers:
        longest = lost[server].longest(question.from_ns, until_ns) if server in lost else None
        if longest is not None and 2 * longest[0] >= until_ns - question.from_ns:
            yield server


def _question(failure: Failure, brokers: frozenset[str]) -> Question:
    """Returns the question who else was served in the time for which packets prove the failure."""
    fault = fault_of(failure)
    from_ns = failure.start_ns if fault.start_ns is None else fault.start_ns
    until_ns = FOREVER if failure.end_ns is None else failure.end_ns
    to_ns = until_ns if fault.end_after_ns is None else fault.end_after_ns
    servers = frozenset(row.broker_key for row in failure.states if not failure.is_of_broker or _is_of(failure, row))
    return Question(from_ns, to_ns, hosts_of(failure), servers, brokers)


def _is_of(failure: Failure, row: BrokerState) -> bool:
    """Whether a state is one of the failed broker, and not one of another broker that the failed one did not reach."""
    return failure.node_id is None or row.node_id is None or row.node_id == failure.node_id


def hosts_of(failure: Failure) -> frozenset[str]:
    """Returns the hosts that show a failure."""
    return frozenset(row.host for row in failure.states) | {run.client_ip for run in failure.lookups}


def _hosts(failure: Failure) -> str:
    return listed(sorted(hosts_of(failure)))


def _is_seen_by_several(failure: Failure, _: Contrast) -> bool:
    return len(hosts_of(failure)) > 1


def _has_packets_of_server(failure: Failure) -> bool:
    return bool(failure.states) and all(row.state in _SHOWN_BY_KERNEL for row in failure.states)


def _is_not_the_way(failure: Failure, contrast: Contrast) -> bool:
    """Whether the path to a broker is excluded: several hosts show the failure, packets of the broker do, or the
    controller fenced the broker."""
    is_fenced = failure.process.session is not None or any(step.step == "detected" for step in failure.course)
    return _has_packets_of_server(failure) or is_fenced or _is_seen_by_several(failure, contrast)


def _are_hosts_served(failure: Failure, contrast: Contrast) -> bool:
    """Whether the hosts themselves work: other servers served them, or packets of the failed server reach them."""
    ended = bool(failure.states) and all(row.state in _ENDED for row in failure.states)
    return bool(contrast.servers_beside) or ended or _has_packets_of_server(failure)


def _are_others_served(_: Failure, contrast: Contrast) -> bool:
    return contrast.n_hosts > 0


def _has_several_servers(failure: Failure, _: Contrast) -> bool:
    """Whether a host that was silent to all servers talked to several servers before or after."""
    return len(failure.servers | {row.server for row in failure.states}) > 1


def _lost_bytes(failure: Failure) -> list[int]:
    """Returns the payload bytes of the shortest lost packet of each state in which only long packets are known to be
    lost."""
    return [row.lost_bytes for row in failure.states if row.lost_bytes is not None]


_OTHER_HOST = "packets captured at another host"
_WAY = Suspect(
    "path",
    lambda failure: f"a firewall or a cut path between {_hosts(failure)} and {failure.subject}",
    _is_not_the_way,
    f"{_OTHER_HOST}, or the log of the broker for that time",
)
_HOSTS = Suspect(
    "client_host",
    lambda failure: f"{_hosts(failure)} or its network" if len(hosts_of(failure)) == 1 else "the network of the hosts",
    _are_hosts_served,
    "whether these hosts reached anything else meanwhile",
)
_BROKER = Suspect(
    "broker",
    lambda failure: failure.subject if failure.kind.of_path else "the broker at that address (off the whole time)",
    lambda failure, contrast: (
        bool(contrast.hosts_beside) or failure.is_served_beside or _has_packets_of_server(failure)
    ),
    f"{_OTHER_HOST}, or the log of the broker for that time",
)
_PEERS = Suspect(
    "broker",
    lambda failure: f"the broker at {_hosts(failure)}",
    lambda failure, contrast: len(failure.hosts) > 1 or _are_hosts_served(failure, contrast),  # one fault, not several
    "its log for that time, or whether it reached other brokers meanwhile",
)
_MTU = Suspect(
    "path",
    lambda failure: (
        f"a link on that path that takes no packets with {min(_lost_bytes(failure))} bytes of payload (MTU), as only "
        "such are known to be lost"
    ),
    lambda failure, _: not failure.states or len(_lost_bytes(failure)) < len(failure.states),
    "whether long packets pass now (tracepath, ping -M do), and whether shorter ones did meanwhile",
)
_SERVERS_NETWORK = Suspect(
    "cluster",
    lambda _: "the network of the brokers, or the place of capture",
    _are_others_served,
    _OTHER_HOST,
)
_PLACE_OF_CAPTURE = Suspect(
    "path",
    lambda _: "the network between all clients and all brokers, or the place of capture",
    lambda failure, contrast: (
        bool(contrast.hosts_beside) or any(row.state in _ENDED | _SHOWN_BY_KERNEL for row in failure.states)
    ),
    f"{_OTHER_HOST}, or the logs of the brokers for that time",
)
_WAY_TO_NAME_SERVER = Suspect(
    "path",
    lambda failure: f"the path between {_hosts(failure)} and {failure.subject}",
    _is_seen_by_several,
    "whether the name server answered other hosts",
)
_WAY_TO_ONE_BROKER = Suspect(
    "path",
    lambda failure: f"the path between {_hosts(failure)} and the only broker that shows it",
    _has_several_servers,
    "whether the host reached other brokers meanwhile",
)
_SUSPECTS: dict[Place, tuple[Suspect, ...]] = {
    "broker": (_WAY, _HOSTS),
    "path": (_BROKER, _HOSTS, _MTU),
    "client_host": (_WAY_TO_ONE_BROKER, _SERVERS_NETWORK),
    "replication": (_BROKER, _PEERS),
    "listener": (_WAY, _HOSTS, _BROKER),
    "cluster": (_PLACE_OF_CAPTURE,),
    "name_server": (_WAY_TO_NAME_SERVER, _HOSTS),
}
"""Other places that may have failed, by place of the failure."""


def doubt(failure: Failure) -> str:
    """Returns the alternatives as a sentence, empty if there are none."""
    places = [alternative.what for alternative in failure.alternatives]
    if not places:
        return ""
    return f" It could also be {', '.join(places[:-1])}{' or ' if places[:-1] else ''}{places[-1]}."
