"""A host with clients whose own link or kernel delayed packets.

Looks at acknowledgments that came late on all paths between one host and its brokers at about the same time. Could be
confused with the network of the brokers, where other hosts wait too. Proved by other hosts that were served meanwhile.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, clients, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS, QUEUES, late_by


def _sentence(failure: Failure, times: Times) -> str:
    n_servers = len({state.server for state in failure.states})
    whose = "its" if len(failure.hosts) == 1 else "their"
    between = f"Packets between {listed(sorted(failure.hosts))} and all {whose} brokers ({n_servers}) took long"
    contrast = f", while {failure.contrast.served_text}" if failure.contrast.n_hosts else ""
    return f"{between} {times.of(failure)}: {late_by(failure)}{contrast}"


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    hosts = listed(sorted(failure.hosts), MOST_COMMANDS)
    yield network(f"Look at the link of {hosts}: {QUEUES}, a route that became longer.")
    yield clients(f"See what else {hosts} sent or received then, and whether it got the processor time that it needs.")


HOST_DELAYED = Kind(
    "host_delayed",
    "client host's network slow",
    plural="client hosts' networks slow",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="client_host",
    of_host=True,
)
