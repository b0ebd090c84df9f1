"""Consumers that keep fetching offsets that the log does not have.

Looks at OFFSET_OUT_OF_RANGE that lasts, and at where the log begins and ends by ListOffsets and Fetch. Could be
confused with a single reset of the offset (auto.offset.reset), after which the consumer continues; with records that
retention deleted; and with a leader that lost records (log_truncated). Proved by the offsets themselves.
"""

import shlex
from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.topics import partitions_of
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, refusal_kind
from kafkascope_spark.stories.settings import setting


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    who = listed(sorted({row.who for row in failure.recoveries}))
    reset = setting("offset_reset", observed.libraries) or "its reset policy"
    partitions = ",".join(map(str, partitions_of(failure.recoveries)))
    places = shlex.quote(f"{failure.subject}:{partitions}" if partitions else failure.subject)
    yield clients(
        f"Let {who} go on at an offset that the log has ({reset}; the earliest loses no more than what is deleted "
        "already). A restart does not help where it begins with the same committed offset: upgrade a library that does "
        "not reset by itself, or stop the group and move its offsets: kafka-consumer-groups.sh "
        f"{observed.tool} --group GROUP --topic {places} --reset-offsets --to-earliest --dry-run (then --execute); "
        "what the group had read of the records that are still there is read again then."
    )
    yield brokers(
        f"Which offsets the log has: kafka-get-offsets.sh {observed.tool} --topic {shlex.quote(failure.subject)} "
        "--time earliest. Records that are deleted before they are read need longer retention.ms and retention.bytes."
    )


OFFSET_OUT_OF_RANGE = refusal_kind(
    "offset_out_of_range",
    "offset not in the log",
    "client",
    {
        "OFFSET_OUT_OF_RANGE": Refusal(
            "the offset that it asks for is not in the log (deleted by retention, or beyond its end), so that it reads "
            "nothing",
            _advice,
        )
    },
)
