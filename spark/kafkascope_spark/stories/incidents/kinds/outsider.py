"""Clients that send commits or heartbeats of a group without a member id, while the group has members.

Looks at UNKNOWN_MEMBER_ID and other errors about membership for such requests: those of a consumer that assigns
partitions to itself, of a tool that sets offsets, or of a client that joins and forgets the member id that it was
given. A coordinator accepts them only while the group is empty. Could be confused with a member that was removed
(member), whose requests have a member id.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS


def _who(failure: Failure) -> str:
    return listed(sorted({client(row.client_id, row.client_ip) for row in failure.recoveries}))


def _joins(failure: Failure) -> bool:
    """Whether the clients joined the group themselves between such requests."""
    return any(row.rejoined_ns is not None for row in failure.recoveries)


def _sentence(failure: Failure, times: Times) -> str:
    n = sum(row.n_errors for row in failure.recoveries)
    if _joins(failure):
        return (
            f"{_who(failure)} joined {failure.subject}, sent heartbeats or commits without the member id that it was "
            f"given, and was refused ({listed(sorted(failure.error_names))}, {times_of(n)}) {times.of(failure)}: it "
            "joins again each time, and nothing that it reads is committed"
        )
    return (
        f"{_who(failure)} committed offsets of {failure.subject} without being a member of it, and was refused "
        f"({listed(sorted(failure.error_names))}, {times_of(n)}) {times.of(failure)}: the group has other members. "
        "What this client reads is not committed, and is read again after a restart"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if _joins(failure):
        yield clients(
            f"That is a bug of the client or its library: {_who(failure)} loses its own member id and generation while "
            "it joins. Upgrade it, or report it there with these packets; restart it until then. Neither timeouts nor "
            "pauses between polls have to do with it, and the coordinator is well."
        )
        return
    yield clients(
        f"Give {_who(failure)} a group.id of its own: a consumer that assigns its partitions itself (assign()) cannot "
        f"commit to a group that others join (subscribe()); or let it join {failure.subject}. No timeout changes "
        "that. A tool that sets offsets has to wait until all members have left."
    )


def _complete(failure: Failure) -> None:
    """Sets the subject to `group` and its name."""
    failure.subject = f"group {failure.subject}"


OUTSIDER = Kind(
    "outsider",
    "requests without a member id",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="client",
    own_clients=True,
    lasting=True,
    complete=_complete,
)
