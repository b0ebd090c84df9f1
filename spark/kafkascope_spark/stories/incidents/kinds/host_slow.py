"""Clients of one host that took several times as long as usual to react to responses.

Looks at the time from a response to the next Fetch of each consumer of the host, compared with what is usual for it and
with consumers on other hosts; if only one consumer runs there, also at pauses that all clients of the host have
together. Could be confused with applications that take longer for what they read, if those of several clients do so at
one time. Proved by consumers on other hosts that were as quick as ever, and by brokers that served them.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS


def _sentence(failure: Failure, times: Times) -> str:
    several = any(state.n_waiting > 1 for state in failure.states)
    took = max((state.times_usual or 0 for state in failure.states), default=0)
    who = "its consumers" if several else "its consumer"
    late = f"after a quarter of the responses {who} took {took} times as long as usual, or longer, to fetch again"
    together = "" if several else ", and all its clients paused together"
    others = "while consumers on other hosts were as fast as usual"
    return f"Client host {listed(sorted(failure.hosts))} was slow {times.of(failure)}: {late}{together}, {others}"


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    hosts = listed(sorted(failure.hosts), MOST_COMMANDS)
    yield clients(
        f"See whether {hosts} got the processor time that it needs: CPU limits of containers (cpu.stat: nr_throttled), "
        "steal time of the virtual machine (vmstat 1), other processes, swapping, garbage collection. If it did, look "
        "at what the applications did with their records then."
    )
    yield clients("The brokers worked.")


HOST_SLOW = Kind(
    "host_slow",
    "client host slow",
    plural="client hosts slow",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="client_host",
    states=frozenset({"host_slow"}),
    of_host=True,
)
