"""What frozen.py looks up quickly, against the same by looking at everything."""

import random
from statistics import median

from kafkascope_spark.stories.servers.frozen import _LEAST_NS, _median_without, _waits_for_packets
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import ServerRecord, Wait

TIMES = range(0, 20 * _LEAST_NS, _LEAST_NS // 4)


def test_the_median_of_the_others() -> None:
    choice = random.Random(3)
    for _ in range(200):
        lengths = sorted(choice.randrange(9) for _ in range(choice.randrange(1, 8)))
        left_out = choice.choice(lengths)
        others = list(lengths)
        others.remove(left_out)
        assert _median_without(lengths, left_out) == (median(others) if others else 0)


def test_whether_a_host_waited_for_packets_in_a_time() -> None:
    choice = random.Random(4)
    for _ in range(300):
        server = ServerRecord((0, TIMES[-1]))
        server.waits = [_wait(*sorted(choice.sample(TIMES, 2)), choice) for _ in range(choice.randrange(4))]
        from_ns, to_ns = sorted(choice.sample(TIMES, 2))
        if to_ns - from_ns < _LEAST_NS:
            continue
        expected = any(
            wait.layer == "packet"
            and min(to_ns, server.end_ns(wait.until)) - max(from_ns, wait.asked.ts_ns) >= _LEAST_NS
            for wait in server.waits
        )
        assert _waits_for_packets(server).meet(from_ns + _LEAST_NS, to_ns - _LEAST_NS) == expected


def _wait(asked_ns: int, until_ns: int, choice: random.Random) -> Wait:
    asked, until = Moment(asked_ns, 1), choice.choice([Moment(until_ns, 2), None])
    layer = choice.choice(["packet", "request"])
    return Wait("h", "c", layer, None, True, False, False, asked, asked, asked_ns, until, "data")
