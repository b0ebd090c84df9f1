"""A host with clients that was unreachable or switched off.

Looks at packets of brokers that were retransmitted without an acknowledgment, while the host sent nothing to any
server. Could be confused with a process that ended, whose kernel acknowledges or resets; with a cut path, where the
host continues to send to others; and with a place of capture that lost the packets of that host. Proved by other hosts
that were served meanwhile.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS, lower


def _sentence(failure: Failure, times: Times) -> str:
    n_hosts, n_servers = len(failure.hosts), len({state.server for state in failure.states})
    who = f"Client host{'' if n_hosts == 1 else 's'} {failure.subject} {'was' if n_hosts == 1 else 'were'} unreachable"
    what = f"{'it' if n_hosts == 1 else 'they'} and {counted(n_servers, 'broker')} did not reach each other"
    if all(state.state == "host_silent" for state in failure.states):
        tries = f"{counted(n_servers, 'broker')} sent the same data again and again without an acknowledgment"
        what = f"nothing came from {'it' if n_hosts == 1 else 'them'}, and {tries}"
    contrast = f"while {failure.contrast.served_text}"
    if not failure.contrast.n_hosts:
        contrast = "and the capture shows no other host whose requests were answered meanwhile"
    return f"{who} {times.of(failure)}: {what}, {contrast}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    hosts = listed(sorted(failure.hosts), MOST_COMMANDS)
    yield clients(
        f"Look at {hosts} for that time: its network interface and the switch port (ip -s link, dmesg), a migration or "
        "pause of the virtual machine, a restart."
    )
    yield clients("The brokers worked.")
    yield from lower(
        ("session_timeout",),
        observed,
        "are removed from their groups, so that other members take over their partitions,",
    )


CLIENT_HOST = Kind(
    "client_host",
    "client host unreachable",
    plural="client hosts unreachable",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="client_host",
    states=frozenset({"host_silent"}),
    of_host=True,
)
