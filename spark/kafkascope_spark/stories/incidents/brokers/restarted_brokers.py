"""Restarts of brokers that no host saw: no client waited for the broker or sent it a request at that time."""

from collections.abc import Iterable, Iterator, Sequence

from kafkascope_spark.stories.findings.wording import node
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.failure_facts import BrokerProcess
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.kinds.broker_restarted import BROKER_RESTARTED
from kafkascope_spark.stories.incidents.packets.broker_processes import ProcessRestart
from kafkascope_spark.stories.servers.table import BrokerState


def restarted_brokers(
    restarts: Iterable[ProcessRestart], failures: Sequence[Failure], states: Iterable[BrokerState]
) -> Iterator[Failure]:
    """Yields a failure for each restart that no failure of a broker shows, and adds the other restarts to the failures
    that show them. states: rows of broker_states of all
    brokers."""
    servers = {state.node_id: state.server for state in states}
    for restart in restarts:
        mine = (failure for failure in failures if failure.is_of_broker and _is_at(failure, restart))
        seen = [each for each in mine if each.overlap_ns(restart.begin_ns, restart.registered_ns) >= 0]
        for failure in seen:
            failure.process.starts.append(restart)
        if not seen:
            yield _failure(restart, servers.get(restart.node_id, restart.address))


def _is_at(failure: Failure, restart: ProcessRestart) -> bool:
    """Whether the failed broker is the one that restarted. It may be known only by its address."""
    own = (state for state in failure.states if state.node_id == failure.node_id)
    return failure.node_id == restart.node_id or any(state.server_ip == restart.address for state in own)


def _failure(restart: ProcessRestart, server: str) -> Failure:
    return Failure(
        BROKER_RESTARTED,
        subject=node(restart.node_id, server),
        start_ns=restart.begin_ns,
        end_ns=restart.registered_ns,
        node_id=restart.node_id,
        process=BrokerProcess(restart=restart),
        fault=Fault(restart.alive_ns, restart.begin_ns, restart.gone_ns, restart.back_ns),
    )
