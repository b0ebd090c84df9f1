"""Subscriptions and assignments where the bytes are not a consumer's: written by Connect's and Streams' classes."""

import gzip
import json
import pathlib
from collections.abc import Callable
from typing import Any

VECTORS = pathlib.Path(__file__).parents[4] / "fixtures" / "vectors" / "assignments.jsonl.gz"


def written(kind: str, assignor: str | None, holds: str) -> tuple[bytes, dict[str, Any]]:
    """The last such vector of which the list holds is not empty."""
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        found = [v for v in map(json.loads, lines) if v["kind"] == kind and v["assignor"] == assignor and v.get(holds)]
    return bytes.fromhex(found[-1]["hex"]), found[-1]


def one_worker(t: Any, assignor: str, metadata: bytes, given: bytes, protocol_type: str) -> Any:
    """a joins with these bytes and is given those."""
    t.join(2, 300, "a", 1, members=["a"], assignor=assignor).sync(301, 305, "a", 1)
    join, sync = (row["group_request"] for row in t.rows[-2:])
    join["request"]["protocol_type"] = protocol_type
    join["request"]["protocols"][0]["metadata"] = metadata
    sync["response"]["assignment"] = given
    (row,) = t.rebalances()
    return row


def test_a_cooperative_worker_keeps_the_tasks_in_its_metadata(trace: Callable[..., Any]) -> None:
    """Connect's leader gives it only what is new, and says what it has to give up."""
    metadata, runs = written("metadata", None, "owned")
    assert runs["protocol_type"] == "connect"
    given, new = written("assignment", "sessioned", "items")
    row = one_worker(trace(), "sessioned", metadata.replace(b"source-a", b"source-b"), given, "connect")
    kept = {name.replace("source-a", "source-b") for name in runs["owned"]} - set(new["revoked"])
    assert set(row.members[0].assigned) == kept | set(new["items"])
    assert "source-b-1" in kept - set(new["items"])
    assert (row.protocol_type, row.mode) == ("connect", "cooperative")


def test_an_eager_worker_has_what_it_is_given(trace: Callable[..., Any]) -> None:
    given, new = written("assignment", "default", "items")
    row = one_worker(trace(), "default", b"\x00\x00\x00\x00" + bytes(8), given, "connect")
    assert row.members[0].assigned == tuple(sorted(new["items"]))
    assert row.mode == "eager"


def test_standby_tasks_of_streams(trace: Callable[..., Any]) -> None:
    given, new = written("assignment", "stream", "items")
    row = one_worker(trace(), "stream", b"", given, "consumer")
    (member,) = row.members
    assert (member.assigned, member.standby) == (tuple(sorted(new["items"])), tuple(sorted(new["standby"])))
    assert row.mode == "cooperative"


def test_a_group_of_another_kind_has_no_assignments(trace: Callable[..., Any]) -> None:
    """A schema registry's JSON."""
    row = one_worker(trace(), "v0", b'{"version":1}', b'{"error":0}', "sr")
    assert (row.protocol_type, row.members[0].assigned) == ("sr", None)
