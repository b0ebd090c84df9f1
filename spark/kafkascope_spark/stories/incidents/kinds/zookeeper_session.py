"""A broker that lost its ZooKeeper session and served on.

Looks at the broker's own connections to ZooKeeper: its session, the timeout that was agreed, when the session was last
heard of, and whether the next connection had the same one. Could be confused with a broker that is down, which serves
nobody; and with a restart, which opens a new session too. Proved by ZooKeeper's response, which says whether the
session is over, and by clients that the broker served meanwhile.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import expiry, named


def _sentence(failure: Failure, times: Times) -> str:
    lost = f"{named(failure)} had no ZooKeeper session {times.of(failure)}"
    if failure.process.session is None:
        return lost
    then = "then the controller moves its leaders, although the broker is running"
    return f"{lost}: {expiry(failure.process.session, times)}; {then}"


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    yield brokers(
        f"Look at what kept {failure.subject} from ZooKeeper for that time: a long garbage collection of the broker "
        "(-Xlog:gc*), the network between the two, ZooKeeper's own log and disk (fsync warnings)."
    )
    timeout_ms = None if failure.process.session is None else failure.process.session.timeout_ms
    now = "" if timeout_ms is None else f" (now {timeout_ms})"
    yield brokers(
        f"A higher zookeeper.session.timeout.ms of the brokers{now} keeps a broker registered through longer pauses."
    )


ZOOKEEPER_SESSION = Kind(
    "zookeeper_session",
    "ZooKeeper session lost",
    sentence=_sentence,
    advice=_advice,
    known="the broker's ZooKeeper session",
    place="broker",
    plural="ZooKeeper sessions lost",
    of_broker=True,
    by_session=True,
)
