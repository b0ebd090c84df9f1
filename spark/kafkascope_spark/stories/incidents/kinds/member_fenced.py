"""A static member of a group that was fenced: another process uses its group.instance.id.

Looks at the errors of the coordinator (KIP-345): FENCED_INSTANCE_ID for the process that used the id before, and, in
groups of the consumer protocol, UNRELEASED_INSTANCE_ID for the process that wants to use it. Could be confused with a
member that was restarted before its old process had ended, which looks the same and ends by itself.
"""

from collections.abc import Iterable

from kafkascope_parsers.error_facts import FENCED_INSTANCE
from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times


def _sentence(failure: Failure, times: Times) -> str:
    errors = listed(sorted(failure.error_names)) or "a coordinator's errors"
    if _not_released(failure):
        return (
            f"{_who(failure)} could not join {failure.subject} {times.of(failure)}: a member with the same "
            f"group.instance.id had not left, and its session had not timed out ({errors})"
        )
    return (
        f"{_who(failure)} {'were' if len(failure.client_instance_ids) > 1 else 'was'} replaced in {failure.subject} "
        f"by another process with the same group.instance.id {times.of(failure)} ({errors})"
    )


def _who(failure: Failure) -> str:
    return listed(sorted({client(r.client_id, r.client_ip) for r in failure.recoveries})) or "A static member"


def _not_released(failure: Failure) -> bool:
    """Whether processes only joined too early, while the old member still had the id; no member was fenced."""
    return failure.error_names == {"UNRELEASED_INSTANCE_ID"}


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    if _not_released(failure):
        yield clients(
            "Where a process replaces another: let the old one leave when it stops (close() before it ends), or "
            "start the new one after the session of the old one has timed out. A client that gets this error stops "
            "for good; start it again then."
        )
    two = "If both should run: they use" if _not_released(failure) else "Two processes use"
    yield clients(
        f"{two} one group.instance.id in {failure.subject}: give each instance its own (the ordinal of the pod, the "
        "name of the host), and make sure that a new process starts only after the old one has ended."
    )
    if not _not_released(failure):
        yield clients("A client that gets this error stops for good: start it again.")


def _complete(failure: Failure) -> None:
    """Sets the subject to `group` and its name."""
    if failure.recoveries[0].resource_kind == "group":
        failure.subject = f"group {failure.subject}"


MEMBER_FENCED = Kind(
    "member_fenced",
    "static member fenced",
    plural="static members fenced",
    sentence=_sentence,
    advice=_advice,
    known="error codes of the group's coordinator",
    place="group",
    errors=FENCED_INSTANCE,
    of_members=True,
    is_replaced=True,
    complete=_complete,
)
