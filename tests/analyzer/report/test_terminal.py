import io
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from kafkascope_analyzer.report.model.clients import Client
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.terminal.page import WIDEST, page_of, write_parts
from kafkascope_analyzer.report.terminal.report import render

Write = Callable[..., Path]
ReportOf = Callable[..., Report]
HOSTILE = "\x1b[2J\u202e[red]\r\n" + "x" * 300


def shown(model: dict, width: int, *, ascii_only: bool = False) -> str:
    return page_of(render(model, everything=True), width, ascii_only=ascii_only)


@pytest.mark.parametrize("width", [80, 100, 132])
@pytest.mark.parametrize("text", ["", HOSTILE])
@pytest.mark.parametrize("stories", [True, False])
def test_no_line_is_wider_than_the_terminal(report_of: ReportOf, width: int, text: str, stories: bool) -> None:
    page = shown(report_of(text=text, stories=stories), width)
    assert [line for line in page.splitlines() if cell_len(line) > width] == []
    assert page.count("\n") > 20


def test_strangers_text_moves_no_cursor_and_is_no_markup(report_of: ReportOf) -> None:
    page = shown(report_of(text=HOSTILE), 100)
    assert not [c for c in page if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]
    assert "[red]" in page


def test_plain_is_ascii_and_says_the_same(report_of: ReportOf) -> None:
    model = report_of()
    plain, rich = shown(model, 80, ascii_only=True), shown(model, 80)
    assert plain.isascii()
    assert len(plain.splitlines()) == len(rich.splitlines())
    assert not [line for line in plain.splitlines() if line != line.rstrip()]


def test_the_story_is_told(report_of: ReportOf) -> None:
    page = shown(report_of(), 132)
    for said in (
        "2026-11-21 04:28:08.000 UTC",
        "95.0 % of 3.0 kB of stream decoded as Kafka",
        "node 2 (10.0.0.12:9092)",
        "start: ready after 400 ms",
        "authenticates by PLAIN",
        "slowest: before first produce: client idle 300 ms (75.0 %); first produce: network and client 54.0 ms",
        "NOT_LEADER_OR_FOLLOWER on 4 partitions",
        "recovered after 103 ms",
        "node 1 (10.0.0.11:9092) → node 2 (10.0.0.12:9092)",
        "start: failed at join group",
        "group coordinator of readers (refused)",
        "connection refused",
        "1 of 5 connections began before the capture did",
    ):
        assert said in page
    assert "broker-1" not in page


def test_without_stories_the_reader_learns_how_to_get_them(report_of: ReportOf) -> None:
    assert "kafkascope stories" in shown(report_of(stories=False), 80)


def test_a_terminal_gets_styles_and_no_other_escapes(report_of: ReportOf) -> None:
    page = io.StringIO()
    page.isatty = lambda: True  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", "100")
        patch.delenv("NO_COLOR", raising=False)
        write_parts(render(report_of(text=HOSTILE)), page, plain=False)
    text = page.getvalue()
    assert "\x1b[1m" in text
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_no_colour_where_the_output_is_no_terminal(report_of: ReportOf) -> None:
    page = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    write_parts(render(report_of(), everything=True), page, plain=False)
    page.seek(0)
    text = page.read()
    assert "\x1b" not in text
    assert "→" in text


@pytest.mark.parametrize(
    ("settings", "styled", "coloured"),
    [({"FORCE_COLOR": "1"}, True, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False), ({}, False, False)],
)
def test_force_color_and_no_color_are_heeded(report_of: ReportOf, settings: dict, styled: bool, coloured: bool) -> None:
    page = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
            patch.delenv(name, raising=False)
        patch.setenv("TERM", "xterm-256color")
        for name, value in settings.items():
            patch.setenv(name, value)
        write_parts(render(report_of()), page, plain=False)
    page.seek(0)
    text = page.read()
    assert ("\x1b[" in text) == styled
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-7]m", text)) == coloured


def test_an_output_that_cannot_hold_our_signs_gets_ascii(report_of: ReportOf) -> None:
    page = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    write_parts(render(report_of()), page, plain=False)
    page.seek(0)
    assert page.read().isascii()


def test_very_wide_terminals_are_not_filled(report_of: ReportOf) -> None:
    page = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "400")
        write_parts(render(report_of()), page, plain=False)
    page.seek(0)
    assert max(cell_len(line) for line in page.read().splitlines()) <= WIDEST


def with_client(model: Report, client: Client) -> Report:
    """The report with this client instead of the first."""
    return replace(model, clients=replace(model.clients, listed=(client, *model.clients.listed[1:])))


def test_what_one_request_told_several_times_is_one_line(report_of: ReportOf) -> None:
    model = report_of()
    client = model.clients.listed[0]
    cause = client.recoveries[0]
    cause = replace(cause, steps=(*[cause.steps[0]] * 3, *cause.steps[1:]), n_steps=cause.n_steps + 2)
    page = shown(with_client(model, replace(client, recoveries=(cause,))), 100)
    assert page.count("error (3 times)") == 1
    assert "more" not in page.partition("the worst of")[2].partition("reader")[0]


def test_a_long_episode_shows_how_it_began_and_ended(report_of: ReportOf) -> None:
    model = report_of()
    client = model.clients.listed[0]
    cause = client.recoveries[0]
    middle = [replace(cause.steps[3], ts_ns=(cause.steps[3].ts_ns or 0) + n) for n in range(50)]
    cause = replace(cause, steps=(*cause.steps[:3], *middle, cause.steps[4]), n_steps=60)
    page = shown(with_client(model, replace(client, recoveries=(cause,))), 100)
    assert "… 47 steps more" in page
    assert page.index("47 steps more") < page.index("success")


def test_long_lists_say_what_is_left_out_and_where_it_is(report_of: ReportOf) -> None:
    model = report_of()
    client = model.clients.listed[0]
    connections = [replace(client.connections[0], server=f"10.0.0.{n}:9092") for n in range(12)]
    connections += [connections[0]] * 4
    client = replace(
        client, connections=tuple(connections), n_connections=31, recoveries=client.recoveries * 9, n_causes=9
    )
    model = replace(model, errors=replace(model.errors, kinds=model.errors.kinds * 9, n_kinds=9))
    page = shown(with_client(model, client), 100)
    assert "bootstrap (5 connections)" in page
    assert "… and 19 connections more (table connections)" in page
    assert "… and 1 cause more (table stories/recoveries)" in page
    assert "… and 1 error kind more (table errors)" in page


def test_of_many_clients_those_in_trouble_are_told_in_full(report_of: ReportOf) -> None:
    model = report_of()
    producer, reader = model.clients.listed
    calm = [replace(producer, client_id=f"calm-{n}", recoveries=(), n_causes=0) for n in range(30)]
    page = shown(replace(model, clients=replace(model.clients, listed=(*calm, reader))), 100)
    assert page.count("calm-") == 30 + 11
    assert "start: failed at join group" in page
    assert "19 other clients have less to report" in page


def test_a_start_that_got_stuck_shows_both_ends(report_of: ReportOf) -> None:
    model = report_of()
    client = model.clients.listed[0]
    start = client.starts[0]
    steps = tuple(replace(start.steps[1], attempt=n) for n in range(1, 61))
    start = replace(start, outcome="gave_up", steps=steps, n_steps=60)
    page = shown(with_client(model, replace(client, starts=(start, *client.starts[1:]))), 100)
    assert "metadata (try 5)" in page
    assert "… 48 steps more" in page
    assert "metadata (try 60)" in page
    assert "(try 6)" not in page
