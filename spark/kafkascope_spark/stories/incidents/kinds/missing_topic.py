"""A topic, or a topic ID, that does not exist.

Looks at UNKNOWN_TOPIC_OR_PARTITION and similar errors that lasted. Could be confused with a topic that has just been
created, of which brokers soon learn; with one that was deleted and created again (recreated_topic); with a broker that
no longer leads it (stale_client, wrong_broker); with a single partition that it lacks (missing_partition); with a topic
that the principal may not see; and with a topic of another cluster, which the capture shows where clients use both.
Proved by Metadata, which does not know it either.
"""

import shlex
from collections.abc import Iterable

from kafkascope_parsers.error_facts import PERMISSION_DENIED, errors_about
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed, names_of
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.failures.topics import is_of_group, partitions_of
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, INVALID_NAME, MOST_COMMANDS, named
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

RECORDS_GONE = "its records are gone, and committed offsets of groups do not fit the new topic"
ABOUT_IDS = frozenset({"UNKNOWN_TOPIC_ID", "INCONSISTENT_TOPIC_ID"})
"""Errors for the ID of a deleted topic, even if a new topic has the same name."""


def which_partitions(failure: Failure) -> str:
    """Returns the topic with its missing partitions, in words."""
    numbers = [str(n) for n in partitions_of(failure.recoveries)]
    which = f" (partition{'s' if len(numbers) > 1 else ''} {listed(numbers)})" if numbers else ""
    return f"{named(failure)}{which}"


def _sentence(failure: Failure, times: Times) -> str:
    what = which_partitions(failure)
    if _cannot_be(failure):
        return f"{what} is not a valid name of a topic (INVALID_TOPIC_EXCEPTION), {times.of(failure)}"
    if is_of_group(failure.recoveries):
        what = f"A topic that group {failure.subject} commits offsets for"
    stale = sorted({row.who for row in left_behind(failure) if is_about_id(row)})
    still = f"; {listed(stale)} kept using the ID of the deleted topic" if stale else ""
    gone = "was there no longer" if _was_there(failure) else "was not there"
    if failure.topic.deletion is not None:
        at = times.at(failure.topic.deletion.ts_ns)
        gone = f"was there no longer, after {failure.topic.deletion.who} had deleted it at {at}"
    has = f"; cluster {listed(failure.topic.elsewhere)} has a topic of that name" if failure.topic.elsewhere else ""
    return f"{what} {gone} ({listed(sorted(failure.error_names))}) {times.of(failure)}{still}{has}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if is_of_group(failure.recoveries):
        command = f"kafka-consumer-groups.sh {observed.tool} --describe --group {shlex.quote(failure.subject)}"
        yield brokers(f"See which topics it commits offsets for, and whether all of them exist: {command}")
        return
    if _cannot_be(failure):
        yield clients(INVALID_NAME)
        return
    if failure.topic.elsewhere:
        yield _of_wrong_cluster(failure, observed)
        return
    command = f"kafka-topics.sh {observed.tool} --create --topic {shlex.quote(failure.subject)}"
    if failure.end_ns is None and _was_there(failure):
        who = (
            "who deleted the topic"
            if failure.topic.deletion is None
            else f"why {failure.topic.deletion.who} deleted the topic"
        )
        yield brokers(f"Find out {who}: {RECORDS_GONE}. To create it again: {command}")
        yield clients("Stop the clients that still use it, or configure the topic that replaces it.")
        return
    if failure.end_ns is None:
        yield brokers(f"Create the topic, or correct its name in the client: {command}")
        return
    behind = left_behind(failure)
    uses_old_id = any(is_about_id(row) for row in behind)
    if uses_old_id:
        yield brokers(f"It was deleted and created again: {RECORDS_GONE}. Find out who deletes it.")
    else:
        yield brokers(f"It existed later. Create topics before clients need them ({command}).")
        yield brokers(f"Or, if clients had used it before, find out who deletes it: {RECORDS_GONE}.")
    if behind:
        why = "the ID of the deleted topic is still in use there" if uses_old_id else "it was not used again there"
        yield clients(f"Restart {listed(sorted({row.who for row in behind}))}: {why}.")


def _of_wrong_cluster(failure: Failure, observed: Observed) -> Action:
    """Returns what to do where another cluster has the topic: its clients may have been meant to use that one."""
    names = names_of((client.client_id, client.client_ip) for client in observed.clients)
    used = sorted({server for client in observed.clients for server in client.servers})
    addresses = f" ({listed(used, MOST_COMMANDS)})" if used else ""
    return clients(
        f"See which cluster {listed(names) or 'these clients'} should use: the addresses that they reached"
        f"{addresses}, from bootstrap.servers, a DNS name or a load balancer, lead to a cluster without the topic, and "
        f"cluster {listed(failure.topic.elsewhere)} has it. Only create the topic here if they should use this "
        "cluster: records written to it are missing in the other one."
    )


def _cannot_be(failure: Failure) -> bool:
    """Whether brokers refuse the topic name itself."""
    return failure.error_names == {"INVALID_TOPIC_EXCEPTION"}


def _was_there(failure: Failure) -> bool:
    """Whether brokers had reported the topic before it was missing, or a client deleted it."""
    was_known = any(at_ns < failure.start_ns for at_ns in failure.topic.ids.values())
    return was_known or bool(failure.topic.known_partitions) or failure.topic.deletion is not None


def _complete(failure: Failure) -> None:
    """Sets the end of the failure to the first successful request after the last client began to get errors: other
    clients notice later, and some never. The failure has no end if some client misses a partition that no client could
    use again."""
    last_ns = max(row.start_ns for row in failure.recoveries)
    back = [r.recovered_ns for r in failure.recoveries if r.recovered_ns is not None]
    if len(back) + len(left_behind(failure)) == len(failure.recoveries):
        failure.end_ns = min((at for at in back if at >= last_ns), default=max(back))


def left_behind(failure: Failure) -> list[ClientRecovery]:
    """Returns the recoveries of clients that never succeeded although the topic existed again: another client used the
    same partition later, or the client keeps requesting the ID of a deleted topic."""
    back_ns: dict[str, int] = {}
    for row in failure.recoveries:
        if row.recovered_ns is not None:
            back_ns[row.resource] = max(back_ns.get(row.resource, 0), row.recovered_ns)
    last_ns = max(back_ns.values(), default=0)
    lost = (row for row in failure.recoveries if row.recovered_ns is None)
    return [r for r in lost if r.start_ns < (last_ns if is_about_id(r) else back_ns.get(r.resource, 0))]


def is_about_id(recovery: ClientRecovery) -> bool:
    """Whether the client got an error about a topic ID."""
    return not ABOUT_IDS.isdisjoint(recovery.error_names)


MISSING_TOPIC = Kind(
    "missing_topic",
    "topic missing",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="topic",
    errors=errors_about("topic") - PERMISSION_DENIED,
    by_topic=True,
    complete=_complete,
)
