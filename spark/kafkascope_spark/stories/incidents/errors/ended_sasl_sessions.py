"""Connections that brokers closed because the client had not authenticated again in time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kafkascope_spark.stories.findings.wording import client
from kafkascope_spark.stories.incidents.errors.lost_records import is_of_lost_records
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.session_ended import SESSION_ENDED
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery


def ended_sasl_sessions(recoveries: Iterable[ClientRecovery]) -> Iterator[Failure]:
    """Yields one failure for each client, with all its sessions. recoveries: those that belong to no other failure;
    records that a client lost with a session, and did not send again, are an incident of their own."""
    of_client: dict[str, list[ClientRecovery]] = defaultdict(list)
    for row in sorted(recoveries, key=lambda r: (r.start_ns, r.recovery_id)):
        if row.session_ms is not None and not is_of_lost_records(row):
            of_client[row.client_instance_id].append(row)
    for rows in of_client.values():
        first = rows[0]
        who = client(first.client_id, first.client_ip)
        hosts = frozenset(filter(None, [first.client_ip]))
        failure = Failure(SESSION_ENDED, who, first.start_ns, first.start_ns, hosts=hosts)
        for row in rows:
            failure.take_error(row)
        yield failure
