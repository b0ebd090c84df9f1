"""Clients whose processes ended without a clean close, from what is known of each client."""

from collections.abc import Iterable, Iterator

from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.incidents.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.client_died import CLIENT_DIED

TOGETHER_NS = SECOND
"""Clients of one host that end within so much of each other are told together: one process may have several."""


def died_clients(clients: Iterable[AffectedClient], failures: Iterable[Failure]) -> Iterator[Failure]:
    """The failures, in order of time. failures: all others; a client is left out where its group went on without it, as
    the failure of that group names it."""
    told = {member.client_instance_id for f in failures for row in f.rebalances for member in row.lost}
    last_of: dict[str, Failure] = {}
    died = ((row.died_ns, row) for row in clients if row.died_ns is not None and row.client_instance_id not in told)
    names: dict[Failure, set[str]] = {}
    for died_ns, row in sorted(died, key=lambda each: (each[0], each[1].client_instance_id)):
        failure = last_of.get(row.client_ip)
        if failure is None or died_ns > failure.start_ns + TOGETHER_NS:
            failure = last_of[row.client_ip] = Failure(CLIENT_DIED, "", died_ns, died_ns)
            failure.hosts = frozenset({row.client_ip})
            names[failure] = set()
        failure.client_instance_ids.add(row.client_instance_id)
        names[failure].add(client(row.client_id, row.client_ip))
        failure.subject = listed(sorted(names[failure]))
    yield from names
