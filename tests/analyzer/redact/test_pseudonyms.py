"""Pseudonyms: the same for the same text, of the same make, one for each."""

import json
import re
import struct
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.redact.addresses import other_address
from kafkascope_analyzer.redact.assignments import renamed_assignment, renamed_subscription
from kafkascope_analyzer.redact.key_file import open_key_file, read_key_file
from kafkascope_analyzer.redact.pseudonyms import Pseudonyms
from kafkascope_parsers.assignments import read_assignment, read_metadata
from kafkascope_parsers.errors import UsageError

KEY = bytes(range(32))


@pytest.fixture
def of():
    return Pseudonyms(KEY, {"orders", "pay-2"}).of


def test_of_the_same_make(of):
    assert re.fullmatch(r"n-[a-z2-7]{12}", of("orders"))
    assert of("orders-17") == f"{of('orders')}-17"
    assert of("pay-2-0") == f"{of('pay-2')}-0"
    assert of("mail-17") != f"{of('mail')}-17"  # no topic of that name is known
    assert of("kafka-1.prod:9092") == f"{of('kafka-1.prod')}:9092"
    assert of("10.0.0.1:9092") == f"{of('10.0.0.1')}:9092"
    assert of("[fd00::1]:9092") == f"[{of('fd00::1')}]:9092"
    assert of("User:alice") == f"User:{of('alice')}"
    member = "app-4f191ca7-4ed1-4616-bf3f-9461d7f762dc"
    assert of(member).startswith(f"{of('app')}-")
    assert len(of(member)) == len(of("app")) + 37
    assert re.fullmatch(r"[0-9a-f]{16}-48", of("8850816845578b33-48"))
    assert re.fullmatch(r"[0-9a-f]{16}-r0", of("8850816845578b33-r0"))
    assert of("8850816845578b33-48")[:16] == of("8850816845578b33") != "8850816845578b33"
    assert of("word-count-StreamThread-3-consumer") == f"{of('word-count')}-StreamThread-3-consumer"


def test_what_stays(of):
    for text in ("", "__consumer_offsets", "__consumer_offsets-7", "127.0.0.1", "0.0.0.0", "::1", "9092", "-1"):
        assert of(text) == text or text.endswith("-7")


def test_words_stay_where_they_may_be_words():
    found = Pseudonyms(KEY, (), {"consumer"})
    assert found.of("consumer", is_name=False) == "consumer"
    assert found.of("consumer") != "consumer"
    assert found.of("mine", is_name=False) == found.of("mine") != "mine"


def test_another_key_gives_others():
    assert Pseudonyms(b"\1" * 32, ()).of("orders") != Pseudonyms(KEY, ()).of("orders")
    assert Pseudonyms(b"\1" * 32, ()).of("10.0.0.1") != Pseudonyms(KEY, ()).of("10.0.0.1")


@given(st.lists(st.ip_addresses(v=4), unique=True, max_size=60))
def test_addresses_of_hosts_become_others_one_for_each(addresses):
    found = [other_address(address, KEY) for address in addresses]
    assert len(set(found)) == len(found)
    for old, new in zip(addresses, found, strict=True):
        is_host = 0 < int(old) >> 24 < 224 and not old.is_loopback
        assert 0 < int(new) >> 24 < 224 and not new.is_loopback if is_host else new == old


@given(st.ip_addresses(v=6))
def test_addresses_of_ipv6_stay_such(address):
    found = other_address(address, KEY)
    assert found.version == 6
    assert ip_address(str(found)) == found


@given(st.text(max_size=40))
def test_any_text_has_one(text):
    found = Pseudonyms(KEY, {"orders"})
    assert found.of(text) == Pseudonyms(KEY, {"orders"}).of(text)
    assert text not in found.originals or found.originals[text] != text


def test_the_key_file_knows_what_they_stand_for(tmp_path):
    path = tmp_path / "redaction.key"
    made = open_key_file(path)
    found = Pseudonyms(made.key, ())
    name = found.of("orders")
    made.add(found.originals)
    assert path.stat().st_mode & 0o777 == 0o600
    again = open_key_file(path)
    assert again.key == made.key
    assert again.originals == {name: "orders"}
    again.add(found.originals)
    assert len(path.read_text().splitlines()) == 2  # nothing twice
    assert made.key.hex() not in repr(again)
    for text in ("", "{}", json.dumps({"key": "00"}), "no json"):
        path.write_text(text)
        with pytest.raises(UsageError):
            read_key_file(path)


def test_topics_of_group_members(of):
    """Bytes as ConsumerProtocolSubscription.json and ConsumerProtocolAssignment.json lay them out."""
    partitions = struct.pack(">ih6sii", 1, 6, b"orders", 1, 2)
    subscription = (
        struct.pack(">hih6si4s", 3, 1, 6, b"orders", 4, b"user") + partitions + struct.pack(">ih4s", 7, 4, b"rack")
    )
    wanted = read_metadata("consumer", renamed_subscription(subscription, of))
    assert list(wanted.topics) == [of("orders")]
    assert list(wanted.owned) == [f"{of('orders')}-2"]
    assignment = struct.pack(">h", 0) + partitions + struct.pack(">i4s", 4, b"user")
    given = renamed_assignment(assignment, of)
    assert list(read_assignment("consumer", given, None).items) == [f"{of('orders')}-2"]
    for text in (b"orders", b"user", b"rack"):
        assert text not in given + renamed_subscription(subscription, of)


@given(st.binary(max_size=60))
def test_bytes_that_do_not_decode_are_dropped(raw):
    of = Pseudonyms(KEY, ()).of
    assert isinstance(renamed_subscription(raw, of), bytes)
    assert isinstance(renamed_assignment(raw, of), bytes)
