"""Consumers that a group's coordinator refuses because of their settings.

Looks at errors of JoinGroup, SyncGroup and the heartbeats of later protocols that are about the contents of the
request. Could be confused with a member that was removed (member), which can join again; and with a missing permission
(permission). Proved by other members that the coordinator serves.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, advise, refusal_kind
from kafkascope_spark.stories.incidents.texts.texts import now
from kafkascope_spark.stories.settings import setting


def _session_timeout(_: Failure, observed: Observed) -> Iterable[Action]:
    asked = max((c.session_timeout_ms for c in observed.clients if c.session_timeout_ms is not None), default=None)
    yield clients(
        f"Set {setting('session_timeout', observed.libraries)}{now(asked)} to a value that the brokers allow: between "
        "their group.min.session.timeout.ms (default 6000) and group.max.session.timeout.ms (default 1800000)."
    )
    yield brokers("Or widen these limits on all brokers, if such a timeout is meant.")


_OF_GROUP = clients("Correct the setting that the broker's message names; the same request is refused each time.")

GROUP_REFUSED = refusal_kind(
    "group_refused",
    "refused by its group's coordinator",
    "group",
    {
        "INCONSISTENT_GROUP_PROTOCOL": Refusal(
            "none of its assignors is one of those that the other members of the group have, or the members are of "
            "another type",
            advise(
                clients(
                    "Give all members of a group an assignor in common (partition.assignment.strategy); another "
                    "application, or one with another library, needs a group.id of its own. To change the assignor of "
                    "a running group, let all members have both for one round of restarts."
                )
            ),
        ),
        "INVALID_SESSION_TIMEOUT": Refusal(
            "its session timeout is outside of what the brokers allow", _session_timeout
        ),
        "GROUP_MAX_SIZE_REACHED": Refusal(
            "the group has as many members as the brokers allow",
            advise(
                brokers("Raise group.max.size, if so many members are meant; look for members that never leave."),
                clients("More members than partitions have nothing to read: the present members are not affected."),
            ),
        ),
        "GROUP_ID_NOT_FOUND": Refusal(
            "the group is in use with another protocol than the one that this member speaks, or there is no such group",
            advise(
                clients(
                    "Give all members of the group the same group.protocol (classic: JoinGroup; consumer: "
                    "ConsumerGroupHeartbeat, KIP-848), or give it another group.id: the others are not affected."
                ),
                brokers(
                    "Members of both protocols can share a group only with group.consumer.migration.policy=upgrade or "
                    "bidirectional."
                ),
            ),
        ),
        "INVALID_GROUP_ID": Refusal("its group id is empty or not allowed", advise(clients("Set group.id."))),
        "UNSUPPORTED_ASSIGNOR": Refusal("the coordinator does not have its assignor", advise(_OF_GROUP)),
        "INVALID_REGULAR_EXPRESSION": Refusal("the pattern of its subscription is not valid", advise(_OF_GROUP)),
        "STREAMS_INVALID_TOPOLOGY": Refusal("its topology is not valid", advise(_OF_GROUP)),
        "STREAMS_INVALID_TOPOLOGY_EPOCH": Refusal("the epoch of its topology is not valid", advise(_OF_GROUP)),
        "STREAMS_TOPOLOGY_FENCED": Refusal("the group has a newer topology", advise(_OF_GROUP)),
    },
)
