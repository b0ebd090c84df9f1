"""Connection names against published values and invariants."""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.connections.identity import (
    address_text,
    community_ids,
    connection_ids,
    id_texts,
    request_ids,
)


def v4(text):
    a, b, c, d = (int(part) for part in text.split("."))
    return [0, 0xFFFF << 32 | a << 24 | b << 16 | c << 8 | d]


def test_addresses_are_written_as_people_write_them():
    halves = np.array([v4("10.0.0.1"), [0x20010DB8 << 32, 1]], np.uint64)
    assert address_text(halves).to_pylist() == ["10.0.0.1", "2001:db8::1"]


def test_community_id_is_the_published_one():
    """The example of the Community ID specification: 128.232.110.120:34855 to 66.35.250.204:80, TCP."""
    addresses = np.array([[v4("128.232.110.120"), v4("66.35.250.204")]], np.uint64)
    ports = np.array([[34855, 80]], np.uint16)
    assert community_ids(addresses, ports).to_pylist() == ["1:LQU9qZlK+B5F3KDmev6m5PMibrg="]
    assert community_ids(addresses[:, ::-1], ports[:, ::-1]) == community_ids(addresses, ports)


def test_a_connection_id_does_not_depend_on_who_was_seen_first():
    addresses = np.array([[v4("10.0.0.1"), v4("10.0.0.2")]], np.uint64)
    ports = np.array([[40000, 9092]], np.uint16)
    first = np.array([1_700_000_000_000_000_000])
    ids = connection_ids(addresses, ports, first)
    assert ids.tolist() == connection_ids(addresses[:, ::-1], ports[:, ::-1], first).tolist()
    assert ids.tolist() != connection_ids(addresses, ports, first + 1).tolist()
    assert id_texts(ids).to_pylist() == [ids[0].decode()]
    assert len(ids[0]) == 16


def test_request_ids_tell_requests_from_responses_alone():
    ids = pa.array(["0123456789abcdef", "fedcba9876543210"])
    numbers = np.array([7, -3, 0, 1234567890123])
    result = request_ids(ids, np.array([0, 1, 1, 0]), numbers)
    assert result.to_pylist() == [
        "0123456789abcdef-7",
        "fedcba9876543210-r2",
        "fedcba9876543210-0",
        "0123456789abcdef-1234567890123",
    ]
    assert request_ids(ids, np.zeros(0, np.int64), np.zeros(0, np.int64)).to_pylist() == []


def test_numbers_of_all_lengths_are_written_as_python_writes_them():
    ends = [10**n for n in range(19)] + [2**63 - 1]
    numbers = np.array([0, *ends, *(end - 1 for end in ends)], np.int64)
    expected = [f"{'a' * 16}-{number}" for number in numbers.tolist()]
    result = request_ids(pa.array(["a" * 16]), np.zeros(len(numbers), np.int64), numbers)
    assert result.to_pylist() == expected
    result = request_ids(pa.array(["a" * 16]), np.zeros(len(numbers), np.int64), -1 - numbers)
    assert result.to_pylist() == [text.replace("-", "-r") for text in expected]


def test_rows_of_one_request_have_the_same_id():
    """Ids of the connections are those of a slice, as of some rows of a table."""
    texts = ["f" * 16, "0123456789abcdef", "fedcba9876543210"]
    conn = np.array([0, 0, 0, 1, 1, 0, 1, 1, 1])
    numbers = np.array([7, 7, 12345, 12345, 12345, -1, -1, -1, 0])
    result = request_ids(pa.array(texts).slice(1), conn, numbers)
    named = [f"-{number}" if number >= 0 else f"-r{-1 - number}" for number in numbers.tolist()]
    assert result.to_pylist() == [texts[1 + at] + name for at, name in zip(conn.tolist(), named, strict=True)]
    result.validate(full=True)
