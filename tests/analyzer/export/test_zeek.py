"""`kafka.log`, read as Zeek's documentation says, against the brokers' log and Community ID's own definition."""

import gzip
import json
import re
from base64 import b64encode
from hashlib import sha1
from ipaddress import ip_address
from pathlib import Path

import pytest

from kafkascope_analyzer.export import zeek

from .conftest import CAPTURES, exported


def read(text: str) -> list[dict[str, str | None]]:
    head = dict(line[1:].split("\t", 1) for line in text.splitlines() if line.startswith("#") and "\t" in line)
    assert text.startswith("#separator \\x09\n")
    names = head["fields"].split("\t")
    assert len(head["types"].split("\t")) == len(names)
    assert set(head["types"].split("\t")) <= {"time", "string", "addr", "port", "int", "count", "interval"}
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    assert all(len(row) == len(names) for row in rows)
    return [dict(zip(names, (None if v == head["unset_field"] else v for v in row), strict=True)) for row in rows]


def community_id(row: dict[str, str | None]) -> str:
    """Version 1, seed 0, as its specification defines it."""
    ends = [
        (ip_address(row[f"id.{side}_h"] or "").packed, int(row[f"id.{side}_p"] or 0).to_bytes(2))
        for side in ("orig", "resp")
    ]
    (first_ip, first_port), (last_ip, last_port) = sorted(ends)
    hashed = sha1(b"\0\0" + first_ip + last_ip + b"\x06\0" + first_port + last_port, usedforsecurity=False)
    return "1:" + b64encode(hashed.digest()).decode()


def test_its_lines_are_the_requests_of_the_brokers_log(leader_move: Path) -> None:
    rows = read(exported("zeek", str(leader_move)))
    truth = json.loads((CAPTURES / "leader_move.truth.json").read_text())["captures"][0]
    with gzip.open(CAPTURES / "leader_move.requests.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    logged = {
        (line["remote"], line["corr"], line["client_id"], line["v"], str(line["node"]))
        for line in lines
        if line["api"] == "PRODUCE" and truth["first_packet_ns"] / 1e6 <= line["ts_ms"] <= truth["last_packet_ns"] / 1e6
    }
    found = {
        (
            f"{r['id.orig_h']}:{r['id.orig_p']}",
            int(r["correlation_id"] or 0),
            r["client_id"],
            int(r["api_version"] or 0),
            r["node_id"],
        )
        for r in rows
        if r["api"] == "Produce"
    }
    assert found == logged
    assert all(row["community_id"] == community_id(row) for row in rows)
    times = [float(row["ts"] or 0) for row in rows]
    assert times == sorted(times)
    assert all(re.fullmatch(r"\d+\.\d{6}", row["latency"]) for row in rows if row["latency"])


def test_texts_are_escaped_as_zeek_does() -> None:
    assert [zeek._text(text) for text in ("", "-", "(empty)", "a\tb", "a\\b", "é\n", "\u202e")] == [
        *("(empty)", "\\x2d", "\\x28empty)", "a\\x09b", "a\\\\b", "é\\x0a", "\\xe2\\x80\\xae"),
    ]


def test_names_of_strangers_cannot_make_a_line(leader_move: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(exported("zeek", str(leader_move)))
    hostile = zeek._QUERY.replace("r.client_id as", "chr(9) || '#evil' || chr(10) || '1' as")
    assert hostile != zeek._QUERY
    monkeypatch.setattr(zeek, "_QUERY", hostile)
    rows = read(exported("zeek", str(leader_move)))
    assert len(rows) == len(whole)
    assert {row["client_id"] for row in rows} == {"\\x09#evil\\x0a1"}
