"""Requests that a broker never answered, or only in part, while it answered other requests.

Looks at stalls that no failed broker or path explains, and at requests that would have ended them: neither they nor
later requests on their connections had a response until the end of the connection or of the capture. Could be confused
with a capture that lacks the responses, which later responses of the connection or missing bytes show; and with a proxy
between the two that holds the response back. Proved by the broker's responses to others at that time.
"""

from collections.abc import Iterable
from operator import attrgetter

from kafkascope_spark.stories.findings.wording import client, counted, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest
from kafkascope_spark.stories.incidents.texts.texts import faster, named


def _sentence(failure: Failure, times: Times) -> str:
    requests = sorted(failure.responses.unanswered.values(), key=attrgetter("ts_ns", "request_id"))
    said = f"never answered {_listed(requests, times)}, nor anything later on the connection"
    if requests and requests[0].has_begun:
        said = f"never ended its response to {_listed(requests, times)}, and sent nothing more on the connection"
    n = failure.responses.latencies.total().n
    others = f", while it answered {counted(n, 'other request')}" if n else ""
    return f"{named(failure)} {said} {times.of(failure)}{others}"


def _listed(requests: list[UnansweredRequest], times: Times) -> str:
    """Returns the first of the requests, and how many more there are."""
    if not requests:
        return "a request"
    first, *more = requests
    what = f"{first.api_name} of {client(first.client_id, first.client_ip)}, sent at {times.at(first.ts_ns)}"
    return f"{what} and {counted(len(more), 'more request')}" if more else what


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    apis = listed(sorted({request.api_name for request in failure.responses.unanswered.values()}))
    yield brokers(
        f"Look in the log of {failure.subject} for an exception while it handled {apis} at that time, and whether a "
        "proxy or load balancer between the two holds responses back; take a thread dump of the broker if it still "
        "lasts."
    )
    yield from faster(observed)


UNANSWERED = Kind(
    "unanswered",
    "request never answered",
    plural="requests never answered",
    sentence=_sentence,
    advice=_advice,
    known="requests without responses",
    place="broker",
)
