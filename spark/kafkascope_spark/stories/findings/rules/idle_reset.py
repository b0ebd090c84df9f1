"""`idle_reset`: a device between client and broker dropped a connection that had been idle."""

from bisect import bisect_left
from collections import defaultdict

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of, with_client
from kafkascope_spark.stories.findings.conditions import above, all_of, at_least, count, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER, UNANSWERED_OR_RESET
from kafkascope_spark.stories.findings.sql import MOST_EVIDENCE, joined_lists, sorted_set
from kafkascope_spark.stories.findings.thresholds import IDLE_LEAST_MS, REPLACED, REPLACED_AFTER_MS
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed, node, times
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import CLIENTS

# One finding per client and server.
_QUERY = f"""
select client_instance_id, client_id, client_ip, server, count(*) as n, max(old_node_id) as node_id,
    min(idle_ms) as least_ms, bool_or(first_error_name = 'CONNECTION_RESET') as was_reset,
    min(failing_ns) as first_ns, max(coalesce(recovered_ns, start_ns)) as last_ns, null as conn_ids,
    {joined_lists("evidence", "failing_ns, recovery_id")} as evidence
from isolated_failures
where idle_ms >= {IDLE_LEAST_MS}
group by client_instance_id, client_id, client_ip, server"""


def _idle(f: Facts) -> str:
    return duration(f.least_ms * 1_000_000)


def _sentence(f: Facts) -> str:
    return (
        f"after {_idle(f)} without traffic the connection of {client(f.client_id, f.client_ip)} to "
        f"{node(f.node_id, f.server)}{' was reset by neither of them' if f.was_reset else ' was dead'} when it sent "
        f"its next request, {times(f.n)}, first at {f.begin(f.first_ns)}"
    )


def _advice(f: Facts) -> str:
    own = setting("max_idle", f.libraries, defaults=True)
    close = (
        f"Set {own} of the client below {_idle(f)}, so that it closes idle connections itself; or raise"
        if own
        else ("Raise")
    )
    busy = setting("metadata_age", f.libraries, defaults=True)
    keepalive = ", socket.keepalive.enable=true" if "librdkafka" in f.libraries else ""
    return (
        f"{close} the idle timeout of the load balancer, NAT gateway or firewall on the way above 600000 ms, after "
        f"which brokers close (their own connections.max.idle.ms); or keep the connection busy ({busy}{keepalive})."
    )


DETECTOR = Detector(
    reads={"idle_connections": UNANSWERED_OR_RESET.and_where(idle_ms=at_least(IDLE_LEAST_MS))},
    query=_QUERY,
    subject=fact("server"),
    sentence=_sentence,
    advice=_advice,
)
# One finding per host. `replaced`: connections on which every request was answered, that nobody closed, and in whose
# place the client opened another one to the same server a second or more after their last packet; if connections of
# this host were used again after a pause as long as theirs, they were left for another reason.
_REPLACED = f"""
with own as (
    select * from owned_connections left semi join left_open using (client_ip, server_ip, server_port)
    where protocol = 'kafka' and client_instance_id is not null and {NO_BROKER}
), replaced as (
    select a.client_ip, a.client_instance_id, a.client_id, a.software_name, a.server, a.conn_id, a.last_ns,
        min(b.first_ns) as next_ns
    from own a join own b on b.client_instance_id = a.client_instance_id and b.server = a.server
        and b.first_ns >= a.last_ns + {REPLACED_AFTER_MS}000000L
    where a.close_kind = 'open' and a.n_requests > 0 and a.n_requests = a.n_responses
    group by a.client_ip, a.client_instance_id, a.client_id, a.software_name, a.server, a.conn_id, a.last_ns
), hosts as (
    select client_ip, array_sort(collect_set(client_id)) as names, {sorted_set("software_name")} as software_names,
        {sorted_set("client_instance_id")} as client_instance_ids, {sorted_set("server")} as servers,
        count(*) as n, min(next_ns - last_ns) as least_ns, min(next_ns) as first_ns, max(next_ns) as last_ns,
        slice(array_sort(collect_list(struct(next_ns, conn_id))).conn_id, 1, {MOST_EVIDENCE}) as conn_ids
    from replaced left semi join (
        select client_ip from replaced group by client_ip, client_instance_id, server
        having count(distinct next_ns) >= {REPLACED}
    ) using (client_ip)
    group by client_ip
), pauses as (
    select client_ip, max(ts_ns - before_ns) as longest_ns from (
        select c.client_ip, r.ts_ns, lag(r.ts_ns) over (partition by r.conn_id order by r.ts_ns, r.request_id)
            as before_ns
        from requests r join (select conn_id, client_ip from connections left semi join hosts using (client_ip)) c
            on c.conn_id = r.conn_id
    ) group by client_ip
)
select h.*, null as client_instance_id, h.conn_ids as evidence, p.longest_ns
from hosts h left join pauses p using (client_ip)
where coalesce(p.longest_ns, 0) < h.least_ns"""


_SERVER_OF_HOST = ("client_ip", "server_ip", "server_port")
_CONNECTION = ("close_kind", "n_requests", "n_responses", "first_ns", "last_ns")


def _are_replaced(tables: Tables) -> bool:
    """Whether a client opened REPLACED connections in place of others to the same server, on which each request was
    answered, and that nobody closed."""
    left_open = tables["left_open"].select(_SERVER_OF_HOST)
    own = tables["kafka_connections"].join(left_open, _SERVER_OF_HOST, join_type="inner", use_threads=False)
    first_ns, left_ns = defaultdict(list), defaultdict(list)
    of_client = ("client_instance_id", "server_ip", "server_port", *_CONNECTION)
    for client_id, ip, port, *rest in rows_of(with_client(own, tables["clients_of_connections"]), *of_client):
        close_kind, n_requests, n_responses, opened_ns, last_ns = rest
        if None in (opened_ns, last_ns):
            continue
        first_ns[client_id, ip, port].append(opened_ns)
        if close_kind == "open" and n_requests == n_responses and n_requests:
            left_ns[client_id, ip, port].append(last_ns + REPLACED_AFTER_MS * 1_000_000)
    return any(_n_next(sorted(first_ns[key]), times_ns) >= REPLACED for key, times_ns in left_ns.items())


def _n_next(first_ns: list[int], left_ns: list[int]) -> int:
    """Returns the number of connections that are the first to begin after another one was left. first_ns: begins,
    ascending."""
    return len({bisect_left(first_ns, ns) for ns in left_ns} - {len(first_ns)})


def _replaced(f: Facts) -> str:
    servers = f"{len(f.servers)} servers" if len(f.servers) > 1 else f.servers[0]
    used_again = (
        f". No connection of this host was used again after a pause of more than {duration(f.longest_ns)}"
        if f.longest_ns
        else ""
    )
    return (
        f"{counted(f.n, 'connection')} of {listed(f.names)} ({f.client_ip}) to {servers} were not used again after a "
        f"pause of {duration(f.least_ns)} or longer, first at {f.begin(f.first_ns)}, last at {f.at(f.last_ns)}: "
        f"neither side closed them, and the client opened a new one in place of each{used_again}"
    )


def _replaced_advice(f: Facts) -> str:
    busy = setting("metadata_age", f.libraries, defaults=True)
    return (
        "Find out what forgets idle connections between this host and the brokers, and raise its idle timeout (load "
        f"balancer, NAT gateway, firewall; conntrack of the host) from at most {duration(f.least_ns)} to more than "
        f"600000 ms, after which brokers close; or let the clients send more often than that ({busy}). A "
        "capture on the host itself shows who resets them: this one does not have these packets."
    )


REPLACED_DETECTOR = Detector(
    reads={
        "left_open": Groups(
            Where(CONNECTIONS, close_kind="open", protocol="kafka", n_requests=above(0)),
            per=_SERVER_OF_HOST,
            having=all_of(
                count() > REPLACED,
                largest("first_ns") - smallest("last_ns") >= REPLACED * REPLACED_AFTER_MS * 1_000_000,
            ),
        ),
        "closed": Where(CONNECTIONS, close_kind=("fin_client", "fin_server")),
        "kafka_connections": Where(CONNECTIONS, protocol="kafka"),
        "clients_of_connections": Where(CLIENTS),
    },
    candidates=Candidates(
        {
            "left_open": _SERVER_OF_HOST,
            "kafka_connections": ("conn_id", *_SERVER_OF_HOST, *_CONNECTION),
            "clients_of_connections": ("client_instance_id", "conn_ids"),
        },
        _are_replaced,
    ),
    query=_REPLACED,
    subject=fact("client_ip"),
    sentence=_replaced,
    advice=_replaced_advice,
)
RULE = Rule(
    name="idle_reset",
    title="A middlebox forgot a connection that had been idle",
    severity="warning",
    meaning="Client and broker both held the connection, and neither closed it; a load balancer, NAT gateway or "
    "firewall between them dropped it for being idle. The next request runs into nothing (and waits for a "
    "timeout) or into a reset.",
    looks_at="A request that got no answer, or a reset without a FIN, on a connection that had been silent for at "
    "least a minute, while the broker was not lost. Or connections of a host on which each request was answered, that "
    f"were neither closed nor used again, {REPLACED} or more of one client and server, each with a new one in its "
    "place; nothing is said if a connection of the host was used again after a pause as long as theirs, or if the "
    "capture has no FIN.",
    advice=f"Let the client close idle connections before the middlebox does ({setting('max_idle')}), or raise "
    "the middlebox's idle timeout above the brokers' 10 minutes.",
    sources=("org.apache.kafka.common.network.Selector.IdleExpiryManager", "RFC 5382"),
    detectors=(DETECTOR, REPLACED_DETECTOR),
)
