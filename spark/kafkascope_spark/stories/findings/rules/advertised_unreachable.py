"""`advertised_unreachable`: a client cannot reach the addresses of brokers in its Metadata responses."""

import re
from collections import defaultdict
from collections.abc import Callable

from kafkascope_analyzer.dataset.tables import CONNECTIONS, DNS, TOPOLOGY
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import (
    NOT_NULL,
    above,
    all_of,
    any_of,
    count_if,
    longer_than,
    matches,
    no_match,
    none_of,
)
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, Text
from kafkascope_spark.stories.findings.shared_queries import CLIENT
from kafkascope_spark.stories.findings.sql import first_ids, sorted_set
from kafkascope_spark.stories.findings.wording import client, counted, listed

LOOPBACK = "(?i)^(localhost([.]localdomain)?|127[.].*|0[.]0[.]0[.]0|::1?|)$"
PRIVATE = (
    "(?i)^(10[.]|127[.]|192[.]168[.]|172[.](1[6-9]|2[0-9]|3[01])[.]|169[.]254[.]|"
    "100[.](6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])[.]|f[cd][0-9a-f]{2}:|fe80:|::1$)"
)
"""Addresses that are valid only in their own network: RFC 1918, 3927, 4193, 4291, 6598."""
_N_THERE = count_if(any_of(synack_ns=NOT_NULL, client_bytes=above(0), server_bytes=above(0)))
"""Number of connections on which the server answered or data went: n_there of the query `servers`."""
_NOBODY_THERE = Groups(
    Where(CONNECTIONS),
    per=("server_ip", "server_port"),
    having=all_of(count_if(all_of(close_kind=("refused", "unanswered"))) > 0, _N_THERE < 1),
)
_TRIED_SERVERS = Groups(Where(CONNECTIONS), per=("server_ip", "server_port"), having=_N_THERE >= 0)
_ADVERTISED_ADDRESSES = Groups(Where(TOPOLOGY, kind="broker"), per=("host", "port"))
ADDRESS = "^[0-9.]+$|:"
"""Pattern of an IP address, which host names do not match."""
_IS_ERROR = all_of(rcode=none_of("NOERROR"))
_UNKNOWN_NAMES = Groups(
    Where(DNS),
    per=("client_ip", "name"),
    having=all_of(count_if(_IS_ERROR) > 0, count_if(all_of(addresses=longer_than(0))) < 1),
)
_LOOPBACK_HOSTS = Groups(Where(TOPOLOGY, host=matches(LOOPBACK)), per=("host", "port"))
_PUBLIC_CLIENTS = Groups(Where(CONNECTIONS, client_ip=no_match(PRIVATE)), per=("client_ip",))


def _per_client(candidates: str, extra: str = "", tries: str = "cast(array() as array<string>)") -> str:
    """Returns the query, with one finding per client. candidates: query of rows of advertised_brokers with n and
    last_ns; extra, tries: aggregates over them; tries returns the connections that prove it."""
    return f"""
        select {CLIENT}, {sorted_set("concat(host, ':', port)")} as addresses,
            min_by(from_server, struct(advertised_ns, advertised_by)) as from_server, sum(n) as n, {extra}
            min(advertised_ns) as first_ns, greatest(max(last_ns), min(advertised_ns)) as last_ns, null as conn_ids,
            concat(array_distinct({first_ids("advertised_by", "advertised_ns")}), {tries}) as evidence
        from ({candidates}) group by {CLIENT}"""


# The address is advertised and tried, but nobody ever answered there: connections were refused or SYNs unanswered.
_NOT_ANSWERING = _per_client(
    f"""
    with tried as (
        select from_ip, server, if(kind = 'unknown', null, client_instance_id) as tried_by, count(*) as n,
            count_if(close_kind = 'refused') as n_refused, max(last_ns) as last_ns,
            {first_ids("struct(first_ns, conn_id)", "first_ns")} as tries
        from owned_connections left semi join nobody_there using (server_ip, server_port)
        where close_kind in ('refused', 'unanswered')
        group by all
    ), names as (
        select distinct name as host, address from dns lateral view explode(addresses) as address
    ), addresses as (
        select a.*, concat(coalesce(address, a.host), ':', port) as server
        from advertised_brokers a left join names on a.host = names.host
    )
    select a.*, n, n_refused, last_ns, tries
    from addresses a join tried on a.client_ip = tried.from_ip and a.server = tried.server
    where last_ns >= advertised_ns and coalesce(tried_by = client_instance_id, true)""",
    "sum(n_refused) as n_refused,",
    "array_sort(flatten(collect_list(tries))).conn_id",
)
# The advertised name is not known to the name server.
_NO_SUCH_NAME = _per_client(
    f"""
    select a.*, u.n, u.rcode, u.last_ns from advertised_brokers a join (
        select client_ip, name, count_if({_IS_ERROR}) as n, max(ts_ns) as last_ns,
            min_by(rcode, if({_IS_ERROR}, struct(ts_ns, rcode), null)) as rcode
        from dns group by client_ip, name having {_UNKNOWN_NAMES.having}
    ) u on a.client_ip = u.client_ip and a.host = u.name""",
    "min(rcode) as rcode,",
)
# Localhost, 0.0.0.0 or nothing is advertised, and the client is on another host than the broker.
_ITS_OWN_HOST = _per_client(f"""
    select a.*, n_advertised as n, advertised_ns as last_ns
    from advertised_brokers a left semi join loopback_hosts l on a.host = l.host
    left anti join (select server from servers where n_there > 0) s
        on s.server = concat(if(a.host = 'localhost', '127.0.0.1', a.host), ':', a.port)
    where not regexp_like(client_ip, '{LOOPBACK}') and client_ip <> substring_index(from_server, ':', 1)""")
# A private address is advertised, and the client is in the public network; it never tries.
_ANOTHER_NETWORK = _per_client(f"""
    select a.*, n_advertised as n, advertised_ns as last_ns
    from advertised_brokers a left semi join public_clients p on a.client_ip = p.client_ip
    left anti join servers s on s.server = concat(a.host, ':', a.port)
    where regexp_like(host, '{PRIVATE}') and not regexp_like(host, '{LOOPBACK}')""")


def _sentence(reason: Text) -> Text:
    def sentence(f: Facts) -> str:
        return (
            f"{client(f.client_id, f.client_ip)} learned from {f.from_server} that brokers are at "
            f"{listed(f.addresses)}{reason(f)}; first at {f.begin(f.first_ns)}"
        )

    return sentence


def _advice(f: Facts) -> str:
    return (
        f"Set advertised.listeners of the listener that {f.from_server} belongs to (now {listed(f.addresses)}) to a "
        "host and port that this client can resolve and reach, or open the way to it; a client elsewhere needs a "
        "listener of its own (listeners, listener.security.protocol.map)."
    )


def _nobody_answers(f: Facts) -> str:
    return f", and nobody answers there: {counted(f.n, 'attempt')}, {f.n_refused} of them refused"


def _is_unknown(f: Facts) -> str:
    return f", and the name server answers {f.rcode} ({f.n} times)"


def _somebody_is_sent_there(tables: Tables) -> bool:
    """Whether an address without an answer is advertised, as an IP address or by a name."""
    by_port = defaultdict(set)
    for host, port in rows_of(tables["advertised_addresses"], "host", "port"):
        by_port[port].add(host)
    return any(
        host == server_ip or (host is not None and not re.search(ADDRESS, host))
        for server_ip, server_port in rows_of(tables["nobody_there"], "server_ip", "server_port")
        for host in by_port[server_port]
    )


def _nobody_is_seen_there(tables: Tables) -> bool:
    """Returns whether a loopback address is advertised at which the capture shows no server."""
    servers = rows_of(tables["tried_servers"], "server_ip", "server_port", str(_N_THERE))
    there = {(server_ip, port) for server_ip, port, n in servers if n}
    advertised = rows_of(tables["loopback_hosts"], "host", "port")
    return any(("127.0.0.1" if host == "localhost" else host, port) not in there for host, port in advertised)


def _detector(
    reads: dict[str, Groups], query: str, reason: Callable[[Facts], str], candidates: Candidates | None = None
) -> Detector:
    return Detector(
        reads=reads,
        candidates=candidates,
        query=query,
        subject=lambda f: ", ".join(f.addresses[:10]),
        sentence=_sentence(reason),
        advice=_advice,
    )


DETECTORS = (
    _detector(
        {"nobody_there": _NOBODY_THERE, "advertised_addresses": _ADVERTISED_ADDRESSES},
        _NOT_ANSWERING,
        _nobody_answers,
        Candidates(
            {"nobody_there": ("server_ip", "server_port"), "advertised_addresses": ("host", "port")},
            _somebody_is_sent_there,
        ),
    ),
    _detector({"unknown_names": _UNKNOWN_NAMES}, _NO_SUCH_NAME, _is_unknown),
    _detector(
        {"loopback_hosts": _LOOPBACK_HOSTS, "tried_servers": _TRIED_SERVERS},
        _ITS_OWN_HOST,
        lambda _: ", which is the client's own host, not the broker's",
        Candidates(
            {"tried_servers": ("server_ip", "server_port", str(_N_THERE)), "loopback_hosts": ("host", "port")},
            _nobody_is_seen_there,
        ),
    ),
    _detector(
        {"public_clients": _PUBLIC_CLIENTS},
        _ANOTHER_NETWORK,
        lambda _: ", private addresses of another network than its own",
    ),
)
RULE = Rule(
    name="advertised_unreachable",
    title="A client cannot reach the brokers where the cluster says they are",
    severity="error",
    meaning="Bootstrap works, and then nothing: clients take only a list of brokers from the bootstrap address, "
    "and connect to the hosts and ports in it (advertised.listeners). Those do not answer, do not resolve, or "
    "mean the client's own host.",
    looks_at="Addresses in Metadata answers to this client: SYNs to them that were refused or not answered, where "
    "nobody in the capture ever got through; names for which the name server only answers errors; localhost, "
    "0.0.0.0 or an empty host in a response to a client on another host; private addresses in a response to a client "
    "with a public one. Addresses that answered once are left out: see broker_lost.",
    advice="Set advertised.listeners to a host and port that the clients can resolve and reach.",
    sources=("KIP-103", "KIP-302", "RFC 1918", "RFC 6598", "org.apache.kafka.clients.Metadata"),
    detectors=DETECTORS,
    follows=Follows(kinds=frozenset({"listener"})),
)
