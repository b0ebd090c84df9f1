"""A host with clients whose own link lost packets, or had too little bandwidth.

Looks at packets that arrived only after a retransmission, or were not acknowledged for a while, between one host and
all its brokers at about the same time. Could be confused with paths that fail one by one, where some broker serves the
host without loss; and with the network of the brokers, where other hosts lose packets too. Proved by other hosts that
were served meanwhile.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, clients, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS, look_at_link


def _sentence(failure: Failure, times: Times) -> str:
    n_servers = len({state.server for state in failure.states})
    whose = "its" if len(failure.hosts) == 1 else "their"
    between = f"Packets between {listed(sorted(failure.hosts))} and all {whose} brokers ({n_servers}) were lost"
    what = "the same bytes had to be sent again before they arrived"
    contrast = f", while {failure.contrast.served_text}" if failure.contrast.n_hosts else ""
    return f"{between} {times.of(failure)}: {what}{contrast}"


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    hosts = listed(sorted(failure.hosts), MOST_COMMANDS)
    yield network(look_at_link(hosts))
    yield clients(f"See what else {hosts} sent or received then: a backup, a deployment.")


HOST_LOSSY = Kind(
    "host_lossy",
    "client host loses packets",
    plural="client hosts lose packets",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="client_host",
    of_host=True,
)
