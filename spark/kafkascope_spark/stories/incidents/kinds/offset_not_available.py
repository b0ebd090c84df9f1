"""Leaders that keep returning that the end of a log is not known yet.

Looks at OFFSET_NOT_AVAILABLE that lasts: a new leader returns the latest offset only when its high watermark has
reached the begin of its leader epoch, which needs fetches of its followers (KIP-207). Could be confused with an
election that has just happened, after which the same error is returned until the followers have fetched once.
"""

import shlex
from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, refusal_kind


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    nodes = listed(sorted({f"node {row.old_node_id}" for row in failure.recoveries if row.old_node_id is not None}))
    yield brokers(
        f"Look at {nodes or 'the leader'} and at the followers of {failure.subject}: they do not fetch from it, or its "
        f"high watermark does not advance: kafka-topics.sh {observed.tool} --describe --topic "
        f"{shlex.quote(failure.subject)} shows who leads and who is in sync. A follower that is gone for long leaves "
        "the in-sync replicas after replica.lag.time.max.ms (default 30000), and the others go on without it."
    )
    yield clients(
        "Nothing has to change: they ask again, and begin when the leader answers. Do not set a position by hand to "
        "get around it: the end of the log is not known yet."
    )


OFFSET_NOT_AVAILABLE = refusal_kind(
    "offset_not_available",
    "end of the log not known",
    "topic",
    {
        "OFFSET_NOT_AVAILABLE": Refusal(
            "the leader was elected, and its high watermark has not come to where its term began, so that it cannot "
            "say where the log ends: who begins at the latest offset does not begin",
            _advice,
        )
    },
    own_clients=False,
)
