"""Texts of brokers are shown where they cannot repeat a secret of their connection, and only there."""

import pickle
import struct

import numpy as np
import pytest

from kafkascope_parsers.exchanges.hidden_values import MOST_BYTES, HiddenValues
from kafkascope_parsers.machine import decode_messages
from kafkascope_parsers.schema import message_type

ALTER_CONFIGS = 33


def text(value):
    return struct.pack(">h", len(value)) + value


def decoded(direction, raw):
    message = message_type(ALTER_CONFIGS, direction)
    buf = np.frombuffer(bytearray(raw), np.uint8)
    ends = np.array([len(raw)], np.int64)
    (columns,) = decode_messages(message, buf, np.zeros(1, np.int64), ends, np.zeros(1, np.int16))
    assert len(columns) == 1
    return columns


def request(value):
    """AlterConfigs v0: one configuration of broker 1."""
    config = struct.pack(">i", 1) + text(b"ssl.key.password") + text(value)
    return decoded(
        "request", struct.pack(">hhih", 33, 0, 1, -1) + struct.pack(">ib", 1, 4) + text(b"1") + config + b"\0"
    )


def response(message):
    return decoded("response", struct.pack(">iiih", 1, 0, 1, 40) + text(message) + b"\4" + text(b"1"))


@pytest.mark.parametrize(
    ("value", "message", "is_hidden"),
    [
        (b"hunter22", b"Invalid value hunter22 for configuration ssl.key.password", True),
        (b"hunter22", b"Invalid value HUNTER2... for configuration ssl.key.password", True),
        (b"hunter22", b"No permission", False),
        (b"abc", b"Invalid value abc", True),
        (b"abc", b"No permission", False),
        (b"\0bob\0xyz", b"xyz is wrong", True),
        (b"", b"No permission", False),
        (b"x" * (MOST_BYTES + 1), b"No permission", True),
        (b"hunter22", b"No permission " * 100, True),
    ],
)
def test_a_text_that_repeats_a_secret_of_its_connection_is_hidden(value, message, is_hidden):
    values = HiddenValues()
    values.note(request(value), np.array([7]))
    assert values.may_repeat(response(message), np.array([7])).tolist() == [is_hidden]
    assert not values.may_repeat(response(message), np.array([8])).any()


def test_what_is_not_known_or_not_saved_is_hidden():
    values = HiddenValues()
    values.note_unknown([7])
    values.note(request(b"hunter22"), np.array([8]))
    saved = pickle.dumps(values)
    assert b"hunter22" not in saved
    again = pickle.loads(saved)
    assert [bool(again.may_repeat(response(b"No permission"), np.array([conn]))[0]) for conn in (7, 8, 9)] == [
        True,
        True,
        False,
    ]


def test_an_empty_text_repeats_nothing():
    values = HiddenValues()
    values.note_unknown([7])
    assert not values.may_repeat(response(b""), np.array([7])).any()
    assert values.may_repeat(response(b"x"), np.array([7])).all()
