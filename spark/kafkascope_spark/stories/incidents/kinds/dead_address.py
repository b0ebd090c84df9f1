"""An address of a DNS name at which nobody is served, while other addresses of the same name serve.

Looks at an address at which no connection was accepted in the capture, and that DNS returned for a name together with
other addresses, one of which served clients at the same port. It may be the entry of a server that no longer exists, or
an IPv6 address next to an IPv4 address of which brokers listen on only one. Could be confused with a broker that is off
for the whole capture, which looks the same if all brokers of a cluster are listed under one bootstrap name.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import duration, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.settings import settings


def _sentence(failure: Failure, times: Times) -> str:
    lost = f"after up to {duration(failure.waited_ms * 1_000_000)}" if failure.waited_ms else "at once"
    return (
        f"No connection was accepted at {failure.subject} {times.of(failure)}; other addresses of the name worked, "
        f"and clients that tried this one first used the next {lost}"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    families = {":" in server.rpartition(":")[0] for server in failure.servers}
    yield brokers(
        f"Take {listed(sorted(failure.servers))} out of the name in DNS, or let a broker listen there (listeners; for "
        "IPv6 on [::] too)."
    )
    if families == {True}:
        yield clients(
            "Or let them ask for IPv4 alone (librdkafka: broker.address.family=v4; Java: "
            "-Djava.net.preferIPv4Stack=true). Nothing else needs to change."
        )
    else:
        timeout = settings(("connect_timeout",), observed.libraries)
        yield clients(
            "A client that tries all addresses of a name needs no change: client.dns.lookup=use_all_dns_ips (default "
            f"since Kafka 2.6). It gives up one that does not answer after {timeout or 'its timeout for connecting'}."
        )


DEAD_ADDRESS = Kind(
    "dead_address",
    "dead address of a name",
    plural="dead addresses of names",
    sentence=_sentence,
    advice=_advice,
    known="attempts to connect, and the DNS answers that named the address",
    place="listener",
    has_other_addresses=True,
)
