"""Texts about member ids that nobody used, so that a group waited for them (kind member)."""

from collections.abc import Iterable, Sequence

from kafkascope_spark.stories.findings.wording import client, counted, listed
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.packets.unused_member_ids import JoinRequest
from kafkascope_spark.stories.incidents.texts.texts import named


def waits_for_id(failure: Failure, times: Times) -> str:
    """Returns a sentence about a rebalance that waited for a member id with which nobody joined."""
    given = failure.members.unused_ids
    first = given[0]
    more = f" (likewise {counted(len(given) - 1, 'more id')})" if len(given) > 1 else ""
    session_ms = max((m.session_timeout_ms or 0 for row in failure.rebalances for m in row.members), default=0)
    return (
        f"{named(failure)} rebalanced, and partitions were not read {times.of(failure)}: all members had joined, and "
        f"the coordinator still waited for the member id {first.member_id}, which it had given to {_who([first])} at "
        f"{times.at(first.ts_ns)} (packet {first.request_packet_no}){more}. Nobody joined with it, and the "
        f"coordinator keeps it until the session timeout ({session_ms} ms) is over"
    )


def _who(given: Sequence[JoinRequest]) -> str:
    return listed(sorted({client(row.client_id, row.client_ip) for row in given}))


def use_ids(failure: Failure) -> Iterable[Action]:
    """Yields advice for clients that do not use the member ids that they get."""
    yield clients(
        f"Update the library of {_who(failure.members.unused_ids)}, or see why it ended then: a new member gets an id "
        "with MEMBER_ID_REQUIRED, and has to join with it at once (KIP-394). One that asks twice and uses the second "
        "id alone, or that ends in between, holds up the whole group. A lower session.timeout.ms shortens the wait, "
        "and a group.instance.id avoids it (static members need no such id). The other members, their applications "
        "and the coordinator are not the cause."
    )
