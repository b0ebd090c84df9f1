import ipaddress
import random

import numpy as np
import pytest

from kafkascope_analyzer.cut.flows import Endpoint, Flows, halves, parse_endpoint, touches
from kafkascope_parsers.link import Segments


def segments(rows: list[tuple[str, int, str, int]]) -> Segments:
    n, zeros = len(rows), np.zeros(len(rows), np.int64)
    source = np.array([halves(row[0]) for row in rows], np.uint64).reshape(n, 2)
    target = np.array([halves(row[2]) for row in rows], np.uint64).reshape(n, 2)
    ports = [np.array([row[i] for row in rows], np.uint16) for i in (1, 3)]
    return Segments(zeros, zeros, source, target, *ports, *([zeros] * 8))


def test_segments_belong_to_their_flow_both_ways() -> None:
    chance = random.Random(7)
    ips = ["10.0.0.1", "10.0.0.2", "::1", "2001:db8::7", "192.168.1.1"]
    every = [(a, chance.randrange(3), b, chance.randrange(3)) for a in ips for b in ips for _ in range(6)]
    wanted = list(dict.fromkeys((min((a, p), (b, q)), max((a, p), (b, q))) for a, p, b, q in every))[::2]
    flows = Flows(wanted)
    expected = [
        wanted.index(pair) if (pair := (min((a, p), (b, q)), max((a, p), (b, q)))) in wanted else -1
        for a, p, b, q in every
    ]
    assert flows.of(segments(every)).tolist() == expected
    assert -1 in expected
    assert Flows([]).of(segments(every)).tolist() == [-1] * len(every)


def test_endpoints_match_address_port_or_both() -> None:
    rows = segments([("10.0.0.1", 9092, "10.0.0.2", 5), ("10.0.0.2", 5, "10.0.0.1", 9092), ("::1", 5, "::1", 9092)])
    assert touches(rows, Endpoint("10.0.0.1", 9092)).tolist() == [True, True, False]
    assert touches(rows, Endpoint("10.0.0.1", 5)).tolist() == [False, False, False]
    assert touches(rows, Endpoint(None, 9092)).tolist() == [True, True, True]
    assert touches(rows, Endpoint("::1", None)).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("text", "ip", "port"),
    [
        ("10.0.0.1:9092", "10.0.0.1", 9092),
        ("[::1]:80", "::1", 80),
        ("::1", "::1", None),
        (":5", None, 5),
        ("10.0.0.1", "10.0.0.1", None),
        ("[fe80::1]", "fe80::1", None),
    ],
)
def test_addresses_as_people_write_them(text: str, ip: str | None, port: int | None) -> None:
    assert parse_endpoint(text) == Endpoint(ip, port)


@pytest.mark.parametrize(
    "text", ["", ":", "0123456789abcdef", "10.0.0.1:99999", "10.0.0.256", "[::1", "host:9092", "[]:"]
)
def test_what_is_no_address(text: str) -> None:
    assert parse_endpoint(text) is None


def test_ipv4_is_held_as_mapped() -> None:
    high, low = halves("10.1.2.3")
    assert ipaddress.IPv6Address(high << 64 | low).ipv4_mapped == ipaddress.IPv4Address("10.1.2.3")
