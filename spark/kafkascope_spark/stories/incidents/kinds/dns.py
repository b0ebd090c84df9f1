"""A name server that did not answer queries.

Looks at queries without an answer within a second, over time, while answers to other queries of the same host are in
the capture. Could be confused with a cut path between one host and the name server, which the sentence names if the
server answered other hosts at that time; proved by its first answer afterwards.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import MOST_COMMANDS


def _hosts(failure: Failure) -> list[str]:
    return sorted({run.client_ip for run in failure.lookups})


def _sentence(failure: Failure, times: Times) -> str:
    n, n_late = sum(run.n for run in failure.lookups), sum(run.n_late for run in failure.lookups)
    asked = f"{counted(n, 'question')} of {listed(_hosts(failure))} for {listed(sorted(failure.resources))}"
    in_time, later = (" in time", f" ({n_late:,} of the {n:,} were answered later)") if n_late else ("", "")
    whom = f"them{in_time}, while it answered other hosts" if failure.hosts else f"anybody{in_time}"
    return (
        f"{failure.subject} did not answer {whom} {times.of(failure)}: {asked} had no answer within a second{later}, "
        "and clients that do not know an address cannot connect"
    )


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    server_ip, name = failure.lookups[0].server_ip, min(failure.resources)
    if failure.hosts:
        hosts = listed(_hosts(failure), MOST_COMMANDS)
        yield network(f"Look for a firewall rule or route between {hosts} and {server_ip} (UDP and TCP port 53).")
    else:
        yield network(f"Look at the name server {server_ip} for that time.")
    yield network(f"To check, from one of the hosts: dig @{server_ip} {name}")
    yield network(
        "Give these hosts a second name server (nameserver lines of /etc/resolv.conf, with options timeout:1 "
        "attempts:2 to ask it sooner), or a cache of their own."
    )


DNS = Kind(
    "dns",
    "DNS server not answering",
    plural="DNS servers not answering",
    sentence=_sentence,
    advice=_advice,
    known="questions to the name server, and its answers",
    place="name_server",
    keeps_out=True,
)
