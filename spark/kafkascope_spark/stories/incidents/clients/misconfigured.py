"""Clients whose settings do not fit a listener, from their uses of listeners (listener_use).

A client that authenticates on other connections lacks no setting: it sends requests too early, which is a fault of the
client. The protocols of a listener are known from the connections that were served there. A listener has the same port
at all brokers: clients that fail at one port for one cause are one failure.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure, Kind
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.kinds.client import CLIENT
from kafkascope_spark.stories.incidents.kinds.mechanism_gone import MECHANISM_GONE
from kafkascope_spark.stories.incidents.kinds.protocol_changed import PROTOCOL_CHANGED
from kafkascope_spark.stories.incidents.kinds.tls_failed import TLS_FAILED
from kafkascope_spark.stories.incidents.signals.listener_use import HTTP, PROXY, TLS, ListenerUse
from kafkascope_spark.stories.incidents.signals.misuse import Cause, Misuse, clients_of, place_of, was_accepted_before
from kafkascope_spark.stories.model import TlsGivenUp

WITH_TLS = frozenset({"SSL", "SASL_SSL", TLS})
"""Protocols of clients with TLS."""
UNAUTHENTICATED = 2
"""Fewest connections that a SASL listener closed on an unauthenticated request without a response: a single one may
have ended by chance."""
LEFT_LOGINS = 3
"""Fewest connections that a client or a server closed during a login: one or two may have ended by chance."""
MOST_ADDRESSES = 3
AUTHENTICATION: frozenset[Cause] = frozenset(
    {
        "without_sasl",
        "needless_sasl",
        "mechanism",
        "mechanism_gone",
        "credentials",
        "left_login",
        "closed_login",
        "refused_at_times",
        "no_longer",
        "authenticates_again",
        "session_refused",
    }
)
TAKEN_AT_TIMES: frozenset[Cause] = frozenset(
    {"refused_at_times", "no_longer", "session_refused", "mechanism_gone", "tls_since"}
)
"""Causes of which the capture shows that the listener took the same credentials, or the same protocol, before or
afterwards."""
_OF_ERROR: dict[str, Cause] = {
    "SASL_AUTHENTICATION_FAILED": "credentials",
    "UNSUPPORTED_SASL_MECHANISM": "mechanism",
    "ILLEGAL_SASL_STATE": "needless_sasl",
}

_OF_BROKERS: frozenset[Cause] = frozenset({"mechanism_gone", "tls_since"})
"""Causes in which the setting of a broker does not fit, and not that of its clients."""
_KINDS: dict[Cause, Kind] = {"tls": TLS_FAILED, "mechanism_gone": MECHANISM_GONE, "tls_since": PROTOCOL_CHANGED}
"""Kinds of failures of listeners; others are failures of clients."""

_Key = tuple[str, Cause, str | None, str | None]
"""Port and cause; if TLS was given up, also the side and the reason."""


class Listeners:
    """Protocols that listeners accept, by address, and the uses that were not served."""

    def __init__(self) -> None:
        self._taken: dict[str, set[str]] = defaultdict(set)
        self._known: dict[str, set[str]] = defaultdict(set)
        """Protocols of served connections whose use of SASL is known, by address of the listener."""
        self._of_clients: dict[str, set[str]] = defaultdict(set)
        """The protocols of served clients that are no brokers, by address: an inter-broker listener is not for
        clients."""
        self._mechanisms: dict[str, set[str]] = defaultdict(set)
        self._logged_in: dict[tuple[str, str | None], set[str]] = defaultdict(set)
        """Addresses of listeners that let a client in, by its address and mechanism."""
        self._served: dict[str, set[str]] = defaultdict(set)
        """Addresses of the clients that were served, by address of the listener."""
        self._failed: list[ListenerUse] = []
        self._plain: dict[tuple[str, str], set[str]] = defaultdict(set)
        """Reasons for which clients gave up TLS, as handshakes show them, by port and alert."""
        self._named: dict[str, set[bool]] = defaultdict(set)
        """Whether the TLS hellos of served connections had a server name (SNI), by address of the listener."""
        self._offers: dict[str, list[str]] = {}
        """Addresses at which clients are served, sorted, by protocol. Filled when all uses have been taken."""

    def take(self, use: ListenerUse) -> None:
        """Adds a use of a listener."""
        if not use.outcome.served:
            self._failed.append(use)
            self._take_given_up(use, use.outcome.tls_given_up)
            return
        self._taken[use.server].add(use.outcome.protocol)
        self._served[use.server].add(use.client_ip)
        if use.outcome.names_server is not None:
            self._named[use.server].add(use.outcome.names_server)
        if use.outcome.from_start:
            self._known[use.server].add(use.outcome.protocol)
            if not use.outcome.of_broker:
                self._of_clients[use.server].add(use.outcome.protocol)
        if use.outcome.mechanism is not None:
            self._mechanisms[use.server].add(use.outcome.mechanism)
            self._logged_in[use.client_ip, use.outcome.mechanism].add(use.server)

    def _take_given_up(self, use: ListenerUse, given_up: TlsGivenUp | None) -> None:
        if given_up is not None:
            self._taken[use.server].add(use.outcome.protocol)
            if given_up.side == "client" and given_up.is_plain:
                self._plain[use.server.rpartition(":")[2], given_up.alert].add(given_up.reason)

    def client_ids(self) -> set[str]:
        """Returns the clients (client_instance_id) with a use that was not served."""
        return {use.client_instance_id for use in self._failed if use.client_instance_id is not None}

    def failures(self) -> Iterator[Failure]:
        """Yields one failure for each port and cause; if TLS was given up, for each side and reason."""
        found: dict[_Key, list[ListenerUse]] = defaultdict(list)
        for use in self._failed:
            cause, port = self._cause(use), use.server.rpartition(":")[2]
            if cause is not None:
                side, reason = self._given_up(use, port)
                found[port, cause, side, reason].append(use)
        for (_, cause, _, _), uses in _with_changed(found).items():
            yield _failure(self._misuse(cause, uses))

    def _given_up(self, use: ListenerUse, port: str) -> tuple[str | None, str | None]:
        """Returns which side gave up TLS, and why. If this handshake shows only its alert, because TLS 1.3 hides the
        server's certificate, the reason is taken from other handshakes at the port that a client ended with the same
        alert, provided that they show only one reason."""
        given_up = use.outcome.tls_given_up
        if given_up is None:
            return None, None
        shown = self._plain[port, given_up.alert]
        is_hidden = given_up.side == "client" and not given_up.is_plain and len(shown) == 1
        return given_up.side, next(iter(shown)) if is_hidden else given_up.reason

    def _cause(self, use: ListenerUse) -> Cause | None:
        """Returns the setting of the client that does not fit; None if the capture does not show it."""
        if use.outcome.error_name is not None:
            cause = _cause_of_refusal(use, use.outcome.error_name)
            return "mechanism_gone" if cause == "mechanism" and self._is_taken_elsewhere(use) else cause
        if use.outcome.tls_given_up is not None:
            return "tls"
        if use.outcome.left_login or use.outcome.closed_login:
            login: Cause = "left_login" if use.outcome.left_login else "closed_login"
            return login if use.n >= LEFT_LOGINS and not use.works_on else None
        protocol, taken = use.outcome.protocol, self._taken_at(use.server)
        if use.outcome.tls_alerted:
            return "tls_since" if taken - WITH_TLS else "without_tls"
        if not taken:
            return None
        if protocol == HTTP:
            return "http"
        if protocol == PROXY:
            return "proxy_header"
        if protocol in WITH_TLS and not taken & WITH_TLS:
            return "needless_tls"
        if protocol not in WITH_TLS and taken <= WITH_TLS and not use.outcome.answered:
            return "without_tls"
        if use.outcome.names_server is False and self._named.get(use.server) == {True}:
            return "without_name"
        is_open = use.outcome.asked and use.n >= UNAUTHENTICATED
        if not is_open or f"SASL_{protocol}" not in taken:
            return None
        return "before_login" if use.logged_in else "without_sasl"

    def _is_taken_elsewhere(self, use: ListenerUse) -> bool:
        """Whether the listener takes the mechanism at another broker, or took it at this one at another time."""
        port, mechanism = use.server.rpartition(":")[2], use.outcome.mechanism
        return any(
            mechanism in taken for server, taken in self._mechanisms.items() if server.rpartition(":")[2] == port
        )

    def _taken_at(self, server: str) -> set[str]:
        """Returns the protocols that the listener accepts at this broker; if nobody was served there, those at other
        brokers."""
        port = server.rpartition(":")[2]
        at_others = (taken for other, taken in self._taken.items() if other.rpartition(":")[2] == port)
        return self._taken.get(server) or set().union(*at_others)

    def _misuse(self, cause: Cause, uses: Sequence[ListenerUse]) -> Misuse:
        servers = {use.server for use in uses}
        spoken = {use.outcome.protocol for use in uses}
        spoken |= WITH_TLS if spoken & WITH_TLS else set()
        return Misuse(
            cause,
            sorted(uses, key=lambda use: (use.first_ns, use.client_ip, use.server)),
            sorted(set().union(*(self._known.get(server, ()) for server in servers))),
            sorted(set().union(*(self._mechanisms.get(server, ()) for server in servers))),
            self._alternatives(spoken, servers),
            bool(set().union(*(self._served.get(server, ()) for server in servers)) - {use.client_ip for use in uses}),
            self._let_in_at(uses, servers),
            {use.client_ip for use in uses} <= {server.rpartition(":")[0] for server in self._served},
        )

    def _let_in_at(self, uses: Sequence[ListenerUse], servers: set[str]) -> list[str]:
        """Returns the first MOST_ADDRESSES other addresses that let the hosts of all uses in with the same mechanism,
        at the same port."""
        port = next(iter(servers)).rpartition(":")[2]
        each = [self._logged_in.get((use.client_ip, use.outcome.mechanism), set()) for use in uses]
        at_port = (server for server in set.intersection(*each) if server.rpartition(":")[2] == port)
        return sorted(server for server in at_port if server not in servers)[:MOST_ADDRESSES]

    def _alternatives(self, spoken: set[str], servers: set[str]) -> list[str]:
        """Returns the first MOST_ADDRESSES other addresses at which clients with the same protocols are served."""
        found: set[str] = set()
        for protocol in spoken:
            offers = self._offered(protocol)
            found.update(islice((server for server in offers if server not in servers), MOST_ADDRESSES))
        return sorted(found)[:MOST_ADDRESSES]

    def _offered(self, protocol: str) -> list[str]:
        if protocol not in self._offers:
            self._offers[protocol] = sorted(s for s, taken in self._of_clients.items() if protocol in taken)
        return self._offers[protocol]


def _with_changed(found: Mapping[_Key, list[ListenerUse]]) -> dict[_Key, list[ListenerUse]]:
    """Joins the uses of a listener that shows another certificate than before to one failure: clients name different
    reasons for rejecting the same certificate."""
    changed = {key[:3] for key, uses in found.items() if any(map(was_accepted_before, uses))}
    united: dict[_Key, list[ListenerUse]] = defaultdict(list)
    for key, uses in found.items():
        united[(*key[:3], None) if key[:3] in changed else key] += uses
    return united


def _cause_of_refusal(use: ListenerUse, error_name: str) -> Cause | None:
    """Returns the cause that an error of SASL shows. Credentials that are accepted later are right; credentials that
    were accepted before, and are not any longer, were right then."""
    if use.outcome.lost_session:
        return "authenticates_again"
    cause = _OF_ERROR.get(error_name)
    if cause == "credentials" and use.outcome.had_session:
        return "session_refused"
    if cause == "credentials" and use.logs_in_later:
        return "refused_at_times"
    return "no_longer" if cause == "credentials" and use.accepted_ns is not None else cause


def _refusal(misuse: Misuse, start_ns: int) -> Fault:
    """Returns when a listener refused logins that it took before or afterwards: it began between the last login
    that the listener accepted and the first that it refused, and ended between the last refusal and the next accepted
    login, each of one of these clients."""
    last_ns = max(use.last_ns for use in misuse.uses)
    before = (use.login_before_ns for use in misuse.uses if use.login_before_ns is not None)
    after = (use.login_after_ns for use in misuse.uses if use.login_after_ns is not None)
    return Fault(
        max((at_ns for at_ns in before if at_ns < start_ns), default=None),
        start_ns,
        last_ns,
        min((at_ns for at_ns in after if at_ns > last_ns), default=None),
    )


def _change(uses: Sequence[ListenerUse]) -> Fault:
    """Returns when a listener showed another certificate: it began between the last connection that worked and the
    first that did not, and ended between the last that did not and the next that worked, each of the same address."""
    before = max((use.tls_before_ns for use in uses if use.tls_before_ns is not None), default=None)
    after = min((use.tls_after_ns for use in uses if use.tls_after_ns is not None), default=None)
    last_ns = max(use.last_ns for use in uses)
    return Fault(before, min(use.first_ns for use in uses), last_ns if after is None else min(last_ns, after), after)


def _failure(misuse: Misuse) -> Failure:
    """Returns the failure. It lasts from the first attempt to the last, and has no end if a client still tries
    again."""
    uses = misuse.uses
    is_over = all(use.is_over or use.works_on for use in uses)
    failure = Failure(
        _KINDS.get(misuse.cause, CLIENT),
        place_of(misuse) if misuse.cause in _OF_BROKERS else f"{clients_of(misuse)} at {place_of(misuse)}",
        min(use.last_ns if misuse.cause == "session_refused" else use.first_ns for use in uses),
        max(use.last_ns for use in uses) if is_over else None,
        hosts=frozenset(use.client_ip for use in uses),
        misuse=misuse,
        waited_ms=misuse.unserved_ns // 1_000_000,
    )
    if misuse.cause == "refused_at_times":
        failure.waited_ms = misuse.refused_ns // 1_000_000
    if misuse.cause == "tls" and misuse.kept_out_ns >= SECOND:
        failure.waited_ms = misuse.kept_out_ns // 1_000_000
    if misuse.cause in TAKEN_AT_TIMES:
        failure.fault = _refusal(misuse, failure.start_ns)
    if misuse.is_tls_changed:
        failure.fault = _change(uses)
    failure.client_instance_ids |= misuse.client_instance_ids & misuse.unserved
    return failure
