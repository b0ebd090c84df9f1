"""The Markdown report as a CommonMark parser reads it: strangers' text stays text."""

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from kafkascope_analyzer.report.markdown.report import to_markdown
from kafkascope_analyzer.report.markdown.text import code, label, prose
from kafkascope_analyzer.report.model.report import Report

Write = Callable[..., Path]
ReportOf = Callable[..., Report]
HOSTILE = "|`](javascript:x)<img src=x onerror=1><!-- \\| **b** @all #1 www.x.y http://x.y\r\n# h\u202e\x1b[2J```;end"
PARSER = MarkdownIt("gfm-like", {"html": True, "linkify": False})
_DIAGRAM_LINE = re.compile(
    r"sequenceDiagram|    participant [A-Za-z0-9]+ as (LABEL)|    [A-Za-z0-9]+(->>|-->>|--x)[A-Za-z0-9]+: (LABEL)"
    r"|    Note over C: (LABEL)".replace("LABEL", r"(?:[A-Za-z0-9 _.,/()+→…µ-]|#\d+;)*")
)


def tokens_of(text: str) -> list[Token]:
    found = PARSER.parse(text)
    return [*found, *(child for token in found for child in token.children or ())]


def shown(text: str) -> str:
    return "".join(token.content for token in tokens_of(text) if token.type in ("text", "code_inline", "fence"))


@pytest.mark.parametrize("text", ["", HOSTILE])
@pytest.mark.parametrize("stories", [True, False])
def test_nothing_in_the_page_is_html_link_or_image(report_of: ReportOf, text: str, stories: bool) -> None:
    page = to_markdown(report_of(text=text, stories=stories))
    kinds = {token.type for token in tokens_of(page)}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "hardbreak", "hr", "blockquote_open"}
    assert not [c for c in page if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert len(headings) == len([token for token in PARSER.parse(page) if token.type == "heading_open"])


def test_hostile_text_changes_no_table_and_no_diagram(report_of: ReportOf) -> None:
    calm = PARSER.parse(to_markdown(report_of()))
    hostile = PARSER.parse(to_markdown(report_of(text=HOSTILE)))
    assert [token.type for token in hostile] == [token.type for token in calm]
    assert [token.type for token in calm].count("td_open") > 30


def test_a_mention_or_link_can_only_be_inside_code(report_of: ReportOf) -> None:
    page = to_markdown(report_of(text=HOSTILE))
    plain = " ".join(token.content for token in tokens_of(page) if token.type == "text")
    assert not re.search(r"@all|www\.x|http:|javascript:|#1|<img", plain)
    assert "@all" in shown(page)


def test_the_diagram_is_the_worst_episode(report_of: ReportOf) -> None:
    page = to_markdown(report_of(text=HOSTILE))
    commands, diagram = [token for token in PARSER.parse(page) if token.type == "fence"]
    assert commands.content.startswith("kafkascope explain OUT.kscope incident-1")
    assert diagram.info == "mermaid"
    lines = diagram.content.splitlines()
    assert lines[0] == "sequenceDiagram"
    assert [line for line in lines if not _DIAGRAM_LINE.fullmatch(line)] == []
    drawn = [line.strip() for line in lines[3:]]
    assert drawn == [
        "N2--xC: +0 µs NOT_LEADER_OR_FOLLOWER",
        "Note over C: +1.00 ms pauses 1.50 ms",
        "C->>N2: +101 ms metadata in 1.50 ms",
        "C->>N2: +103 ms retry in 1.50 ms",
        "N2-->>C: +110 ms success",
    ]


def test_the_page_tells_the_story(report_of: ReportOf) -> None:
    page = to_markdown(report_of())
    for said in (
        "# Kafka traffic in `small.pcap`",
        "**Error.** 1 incident, not over: broker silent: node 1 (10.0.0.11:9092), from 00:04.900 (04:28:12.900 UTC), "
        "not over when the capture ended.",
        "### Error: broker silent: node 1 (10.0.0.11:9092)",
        "| `reader` | `fetch from clicks-0 (group readers)` | 00:05.000 (04:28:13.000 UTC) | 5.00 s | still waiting |",
        "## Other findings: 1 error",
        "- **error** `broker_lost` (00:00.031 to 00:05.100 (04:28:08.031 to 04:28:13.100 UTC)): node 1 was lost",
        "packets 31, 32: `f-2`",
        "kafkascope cut OUT.kscope --incident incident-1 -o incident-1.pcapng",
        "| 00:00.000 | `svc` | producer | ready | 400 ms | client 300 ms at first produce |",
        "| 00:00.020 | `reader` | consumer | failed at join group |  |  |",
        "| 00:05.000 | `svc` | `NOT_LEADER_OR_FOLLOWER` | `clicks-3` and 3 more | recovered | 103 ms | 4 |",
        "| `readers` | 2 | 1 first, 1 member joined | 3.00 s | 2.90 s |",
        "| `pay` | 1 | 1 | 1 | 20.0 ms | 40.0 ms |",
    ):
        assert said in page, page
    assert page.index("## Incidents") < page.index("## Other findings") < page.index("## Starts")


def test_without_stories_the_page_says_so(report_of: ReportOf) -> None:
    assert "kafkascope stories" in to_markdown(report_of(stories=False))


@given(st.text(max_size=40))
def test_any_name_is_one_code_span(text: str) -> None:
    cell = code(text)
    found = [token for token in tokens_of(f"| a | b |\n|---|---|\n| {cell} | c |\n") if token.type == "code_inline"]
    assert len(found) == (1 if text else 0)
    assert [token.type for token in PARSER.parse(f"| a | b |\n|---|---|\n| {cell} | c |\n")].count("td_open") == 2


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("svc_1, and (app_2): done.", "`svc_1`, and (`app_2`): done."),
        ("of a`b; to x|y.", "of ``a`b``; to `x\\x7cy`."),
        ("1.", "`1`."),
    ],
)
def test_punctuation_of_the_sentence_stays_outside_of_code(text: str, made: str) -> None:
    assert prose(text) == made


@given(st.text(max_size=60))
def test_any_sentence_is_text_and_code(text: str) -> None:
    kinds = {token.type for token in tokens_of(f"- x: {prose(text)}")}
    assert kinds <= {"bullet_list_open", "list_item_open", "paragraph_open", "inline", "text", "code_inline"} | {
        "paragraph_close",
        "list_item_close",
        "bullet_list_close",
    }


@given(st.text(max_size=80))
def test_any_label_is_plain_or_coded(text: str) -> None:
    assert re.fullmatch(r"(?:[A-Za-z0-9 _.,/()+→…µ-]|#\d+;)*", label(text))
    assert not re.search(r"\bend\b", label(text), re.IGNORECASE)
