"""Brokers that lost a log directory, from the recoveries of clients that got the error. They are detected before other
failures, because their effects at other brokers look like failures of their own: writes that wait for the broker's
replicas, and moved leaders."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.log_directory import LOG_DIRECTORY, STORAGE_ERROR, name_broker
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery


def log_directory_failures(recoveries: Iterable[ClientRecovery]) -> Iterator[Failure]:
    """Returns one failure for each broker. It lasts from the first of the errors until the last client that got them
    was served again: a directory stays offline until the broker is restarted."""
    of_nodes: dict[int, list[ClientRecovery]] = defaultdict(list)
    for row in recoveries:
        if row.first_error_name == STORAGE_ERROR and row.old_node_id is not None:
            of_nodes[row.old_node_id].append(row)
    for _, rows in sorted(of_nodes.items()):
        start_ns = min(row.start_ns for row in rows)
        failure = Failure(LOG_DIRECTORY, "", start_ns, start_ns)
        for row in sorted(rows, key=lambda row: (row.start_ns, row.recovery_id)):
            failure.take_error(row)
        name_broker(failure)
        yield failure
