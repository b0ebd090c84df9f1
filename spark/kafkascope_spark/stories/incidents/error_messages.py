"""Error messages of brokers: a message often holds details that the error code lacks, such as the error that a leader
got itself from another broker."""

import re
from collections import Counter
from collections.abc import Iterable

from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failure import Failure

MOST_MESSAGES = 2
MOST_CHARACTERS = 200
_COUNT = re.compile(r"^One or more records have been rejected due to \d+ record errors in total\D*?: \[")
"""Begin of the message in which a broker lists what is wrong with single records (KIP-467)."""


def give_messages(failures: Iterable[Failure], packets: Packets) -> None:
    """Sets the messages of each failure, from the errors that its clients got, the most frequent first."""
    proofs = {f: list(dict.fromkeys(i for row in f.recoveries for i in row.evidence)) for f in failures if f.recoveries}
    found = packets.error_messages({request_id for ids in proofs.values() for request_id in ids})
    for failure, request_ids in proofs.items():
        counts = Counter(message for i in request_ids for message in found.get(i, ()))
        failure.messages = sorted(counts, key=lambda message: (-counts[message], message))


def quoted(failure: Failure) -> str:
    """Returns the messages as a sentence, empty if there are none."""
    shown = [f'"{_cut(message).removesuffix(".")}"' for message in failure.messages[:MOST_MESSAGES]]
    return f" Brokers said: {', '.join(shown)}." if shown else ""


def _cut(message: str) -> str:
    """Returns the begin of a message; of a list of what is wrong with single records the begin of the list."""
    message, n = _COUNT.subn("", message)
    message = message.removesuffix("]") if n else message
    return message if len(message) <= MOST_CHARACTERS else f"{message[:MOST_CHARACTERS]}…"
