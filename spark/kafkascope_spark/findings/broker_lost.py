"""`broker_lost`: a broker died, left, or could not be reached any more."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.stories import RECOVERIES
from kafkascope_spark.findings.read import Read
from kafkascope_spark.findings.rule import Detector, Facts, Rule
from kafkascope_spark.findings.shared_queries import ANSWERING_SERVERS, IS_ANSWERING
from kafkascope_spark.findings.thresholds import SAME_OUTAGE_NS, SILENT_CLIENTS
from kafkascope_spark.findings.wording import clock, counted, duration, listed, node
from kafkascope_spark.settings import settings

# One finding per outage: a cause whose failures begin before an earlier one at the same broker is over is part of it.
_QUERY = f"""
select *, null as conn_ids from (
    select *, greatest(first_ns, coalesce(last_back_ns, first_ns)) as last_ns,
        coalesce(first_ns <= max(coalesce(last_back_ns, last_start_ns + {SAME_OUTAGE_NS})) over (
            partition by server order by first_ns, cause_id rows between unbounded preceding and 1 preceding
        ), false) as goes_on
    from outages
) where not goes_on"""
_HOW = {
    "CONNECTION_CLOSED": "closed its connections",
    "CONNECTION_RESET": "reset its connections",
    "CONNECTION_REFUSED": "refused connections",
}


def _sentence(f: Facts) -> str:
    return (
        f"{node(f.node_id, f.server)} {_HOW.get(f.first_error, 'went silent')} at {clock(f.first_ns)}: {_affected(f)} "
        f"lost it{_back(f)}{_meanwhile(f)}"
    )


def _affected(f: Facts) -> str:
    brokers = counted(f.n_brokers, "broker")
    if f.n_clients == 0:
        return brokers
    return f"{counted(f.n_clients, 'client')}{f' and {brokers}' if f.n_brokers else ''} ({listed(f.names)})"


def _back(f: Facts) -> str:
    if f.n_open > 0:
        return f"; {counted(f.n_open, 'client')} not back when the capture ended"
    return "" if f.last_back_ns is None else f"; the last was back after {duration(f.last_back_ns - f.first_ns)}"


def _meanwhile(f: Facts) -> str:
    if f.n_meanwhile == 0:
        return ""
    requests = counted(f.n_meanwhile, "request")
    return f"; meanwhile it answered {requests} of others: the way to it was closed, not the broker"


def _advice(f: Facts) -> str:
    if f.n_meanwhile == 0:
        return _lost(f.libraries)
    return (
        "Others reached this broker all the while: look for a firewall rule, security group, route or proxy between "
        "these clients and its address, not at the broker."
    )


def _lost(libraries: Collection[str]) -> str:
    faster = settings(("reconnect_backoff",), libraries)
    silent = settings(("request_timeout", "connect_timeout"), libraries)
    back = f" Clients come back sooner with a lower {faster}." if faster else ""
    vanished = f" Where hosts vanish silently, they notice sooner with a lower {silent}." if silent else ""
    return (
        "Look at this broker's own log and at its host for that time. If it was restarted on purpose, restart brokers "
        f"one at a time with controlled.shutdown.enable=true, so that leaders move before it goes.{back}{vanished}"
    )


DETECTOR = Detector(
    # An outage is a cause for which clients could not come back, or that affected several clients.
    reads={
        "possible_outages": Read(
            RECOVERIES,
            "resource_kind = 'connection'",
            per="cause_id",
            having="count_if(array_contains(error_names, 'CONNECTION_REFUSED') "
            "or array_contains(error_names, 'CONNECTION_UNANSWERED')) > 0 "
            f"or count(distinct client_instance_id) >= {SILENT_CLIENTS}",
        ),
        "failing_servers": Read(RECOVERIES, "resource_kind = 'connection'", per="resource"),
        "answering_servers": ANSWERING_SERVERS,
    },
    candidates=f"select 1 from failing_servers join answering_servers on {IS_ANSWERING}",
    query=_QUERY,
    subject=lambda f: node(f.node_id, f.server),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="broker_lost",
    title="A broker died, left, or could not be reached any more",
    severity="warning",
    meaning="Clients that had connections to a broker lost them and could not open new ones, or got no answers any "
    "more, until it came back or its work had moved. Everything that it led or coordinated stood still meanwhile.",
    looks_at="Connections that broke, or requests without an answer, and then refused or unanswered attempts to "
    "connect to an address that had answered before; several clients' requests to it that nobody answered at one "
    "time, or not before five seconds later than it should; or several clients' connections that it ended within "
    "two seconds, and not one that went on. A connection that breaks alone and is opened again at once is none. It "
    "says nothing where only one direction of the traffic was captured.",
    advice=_lost(()),
    sources=("org.apache.kafka.clients.NetworkClient", "KIP-144", "KIP-601"),
    detectors=(DETECTOR,),
)
