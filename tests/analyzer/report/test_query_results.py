"""Rows as text, read back with the standard library's and a Markdown parser."""

import csv
import datetime as dt
import io
import json
import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.query_results import MOST_SHOWN, as_csv, as_json, as_markdown, as_table, plain

HOSTILE = 'a\x1b[2J\u202e|`<b>\r\n,"'


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (Decimal(18), 18),
        (Decimal("1.5"), 1.5),
        (float("nan"), "nan"),
        (b"\x00\xff", "00ff"),
        (dt.datetime(2026, 11, 21, 4, 28, 8, 5, dt.UTC), "2026-11-21T04:28:08.000005Z"),
        (dt.timedelta(seconds=90), "0:01:30"),
        ([{"a": (1, None)}], [{"a": [1, None]}]),
        (True, True),
    ],
)
def test_values_as_json_knows_them(value: object, made: object) -> None:
    assert plain(value) == made


@given(st.lists(st.tuples(st.text(), st.none() | st.integers(), st.lists(st.text())), max_size=5))
def test_json_is_exact(rows: list[tuple]) -> None:
    text = "".join(as_json(["a", "b", "c"], rows))
    assert text.isascii()
    assert json.loads(text) == [{"a": a, "b": b, "c": c} for a, b, c in rows]


def test_names_of_narrow_columns_are_broken_at_underscores_before_texts_are_cut() -> None:
    names = ["client_id", "software_name", "longest_throttle_ms", "request_id", "server_address"]
    rows = [("a" * 12, "b" * 18, 1, "c" * 14, "d" * 14)] * 2
    page = page_of(as_table(names, rows, 80), 80, ascii_only=True)
    *heads, last = [line.split() for line in page.splitlines()[:3]]
    assert heads == [["longest_"], ["throttle_"]]
    assert last == ["client_id", "software_name", "ms", "request_id", "server_address"]
    assert all(text in page for text in rows[0] if isinstance(text, str))
    assert "cut to" not in page


def test_json_of_columns_with_one_name() -> None:
    assert json.loads("".join(as_json(["a", "a", "a_1"], [(1, 2, 3)]))) == [{"a": 1, "a_1": 2, "a_1_1": 3}]
    assert json.loads("".join(as_json(["a"], []))) == []


@given(st.lists(st.tuples(st.text(), st.integers()), max_size=5))
def test_csv_is_one_line_a_row_without_a_control_character(rows: list[tuple[str, int]]) -> None:
    text = "".join(as_csv(["name", "n"], rows))
    read = list(csv.reader(io.StringIO(text)))
    assert [len(row) for row in read] == [2] * (len(rows) + 1)
    assert [row[1] for row in read[1:]] == [str(n) for _, n in rows]
    assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]


def test_csv_keeps_plain_text_and_leaves_null_empty() -> None:
    text = "".join(as_csv(["a", "b"], [("naïve, 中", None), ('say "x"', [1, "y"])]))
    assert list(csv.reader(io.StringIO(text)))[1:] == [["naïve, 中", ""], ['say "x"', '[1, "y"]']]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "\uff1d1", '=HYPERLINK("x")'])
def test_csv_has_no_formula_and_keeps_numbers(text: str) -> None:
    ((name, *_), (cell, number, amount)) = csv.reader(
        io.StringIO("".join(as_csv([text, "n", "x"], [(text, -1, -0.5)])))
    )
    assert (number, amount) == ("-1", "-0.5")
    for written in (name, cell):
        assert written[0] not in "=+-@\t\r\uff1d"
        assert written.lstrip("'").replace("\\x09", "\t").replace("\\x0d", "\r") == text


def test_markdown_is_a_table_whatever_the_text() -> None:
    text = "".join(as_markdown(["a|b", "n"], [(HOSTILE, 1), (None, None), (["x", HOSTILE], Decimal("1.5"))]))
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    kinds = [token.type for token in tokens]
    assert (kinds.count("th_open"), kinds.count("td_open"), kinds.count("tr_open")) == (2, 6, 4)
    children = [child.type for token in tokens for child in token.children or ()]
    assert set(children) <= {"text", "code_inline"}


def test_the_table_for_people_is_safe_and_says_what_it_leaves_out() -> None:
    page = page_of(as_table(["n", "name"], [(n, HOSTILE) for n in range(MOST_SHOWN + 7)], 80), 80, ascii_only=False)
    assert "… and 7 rows more (--format csv or json has them)" in page
    assert not [c for c in page if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]
    assert r"a\x1b[2J\u202e|`<b>" in page


def test_no_rows_are_a_head() -> None:
    assert page_of(as_table(["n", "name"], [], 80), 80, ascii_only=True).split() == ["n", "name", *["-" * 7]]
    assert "".join(as_csv(["a"], [])) == "a\n"


def test_several_rows_that_are_too_wide_are_cut_and_say_how_to_see_all() -> None:
    names = ["client", "address", "error", "count"]
    row = ("svc" * 12, "10.0.0.101:40000", "NOT_LEADER_OR_FOLLOWER", 7)
    *lines, last = page_of(as_table(names, [row, row], 80), 80, ascii_only=False).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == 4
    assert lines[2].split()[-1] == "7"
    assert "…" in lines[2]
    assert last == "cut to 80 columns (--format csv or json has everything)"


@given(st.lists(st.text("ab", min_size=1, max_size=90), min_size=4, max_size=12), st.integers(40, 132))
def test_no_line_is_wider_than_the_terminal_however_many_columns(row: list[str], width: int) -> None:
    page = page_of(as_table([f"c{n}" for n in range(len(row))], [tuple(row)] * 2, width), width, ascii_only=False)
    assert max(map(len, page.splitlines())) <= width


def test_one_row_that_is_too_wide_comes_as_a_block() -> None:
    names = ["client", "address", "error", "count"]
    row = ("svc" * 12, "10.0.0.101:40000", "NOT_LEADER_OR_FOLLOWER", 7)
    wide = page_of(as_table(names, [row, row], 120), 120, ascii_only=True).splitlines()
    narrow = page_of(as_table(names, [row], 80), 80, ascii_only=True).splitlines()
    assert [line.split() for line in wide[2:]] == [list(map(str, row))] * 2
    assert [line.split() for line in narrow] == [["row", "1"], *([k, str(v)] for k, v in zip(names, row, strict=True))]
