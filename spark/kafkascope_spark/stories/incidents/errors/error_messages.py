"""Error messages of brokers: a message often holds details that the error code lacks, such as the error that a leader
got itself from another broker."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from kafkascope_spark.stories.incidents.course.sightings import Packets, ReportedError
from kafkascope_spark.stories.incidents.failures.failure import Failure

MOST_MESSAGES = 2
MOST_CHARACTERS = 200
_COUNT = re.compile(r"^One or more records have been rejected due to \d+ record errors in total\D*?: \[")
"""Begin of the message in which a broker lists what is wrong with single records (KIP-467)."""


def give_messages(failures: Iterable[Failure], packets: Packets) -> None:
    """Sets the messages of each failure, from the errors that its clients got, the most frequent first, and the
    topic-partitions that errors of groups are about."""
    proofs = {f: list(dict.fromkeys(i for row in f.recoveries for i in row.evidence)) for f in failures if f.recoveries}
    found: dict[str, list[ReportedError]] = defaultdict(list)
    for error in packets.reported_errors({request_id for ids in proofs.values() for request_id in ids}):
        found[error.request_id].append(error)
    for failure, request_ids in proofs.items():
        of_requests = ({error.message for error in found[i] if error.message} for i in request_ids if i in found)
        counts = Counter(message for messages in of_requests for message in messages)
        failure.messages = sorted(counts, key=lambda message: (-counts[message], message))
        failure.refused_partitions = _refused_partitions(failure, found)


def _refused_partitions(failure: Failure, found: Mapping[str, Iterable[ReportedError]]) -> frozenset[str]:
    """Returns the topic-partitions that the errors of groups are about, as those of commits."""
    proofs = {i for row in failure.recoveries if row.resource_kind == "group" for i in row.evidence}
    errors = (error for request_id in proofs for error in found.get(request_id, ()))
    return frozenset(f"{e.topic}-{e.partition}" for e in errors if e.topic is not None and e.partition is not None)


def quoted(failure: Failure) -> str:
    """Returns the messages as a sentence, empty if there are none."""
    shown = [f'"{_cut(message).removesuffix(".")}"' for message in failure.messages[:MOST_MESSAGES]]
    return f" Brokers said: {', '.join(shown)}." if shown else ""


def _cut(message: str) -> str:
    """Returns the begin of a message; of a list of what is wrong with single records the begin of the list."""
    message, n = _COUNT.subn("", message)
    message = message.removesuffix("]") if n else message
    return message if len(message) <= MOST_CHARACTERS else f"{message[:MOST_CHARACTERS]}…"
