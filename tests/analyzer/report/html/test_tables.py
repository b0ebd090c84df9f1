"""Tables of the page: headings sort them, a field filters, a button saves what is shown as CSV; all by keyboard too."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

CAPTION = "Latency by API and broker"
TABLE = f'.tabled:has(caption:text-is("{CAPTION}"))'
COLUMN = """(at) => [...document.querySelectorAll('#latency table')]
    .filter((one) => one.caption.textContent === 'Latency by API and broker')
    .flatMap((one) => [...one.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[at].textContent))"""


@pytest.fixture
def page(opened: Any, real_page: Path) -> Any:
    found = opened(real_page)
    yield found.page
    assert found.complaints == []


@pytest.mark.slow
def test_a_heading_sorts_by_numbers_then_the_other_way_then_as_before(page: Any) -> None:
    before = page.evaluate(COLUMN, 2)
    heading = page.locator(TABLE).get_by_role("button", name="Slowest")
    heading.focus()
    page.keyboard.press("Enter")
    slowest = page.evaluate(COLUMN, 5)
    assert page.locator(f"{TABLE} th[aria-sort]").get_attribute("aria-sort") == "descending"
    assert slowest[0].endswith(" s")
    assert slowest[-1].endswith(" µs")
    page.keyboard.press("Enter")
    assert page.locator(f"{TABLE} th[aria-sort]").get_attribute("aria-sort") == "ascending"
    assert page.evaluate(COLUMN, 5)[0] == slowest[-1]
    page.keyboard.press("Enter")
    assert page.locator(f"{TABLE} th[aria-sort]").count() == 0
    assert page.evaluate(COLUMN, 2) == before
    assert "Not sorted" in page.locator("#announcer").inner_text()


def test_a_field_filters_and_csv_has_what_is_shown(page: Any) -> None:
    n_all = len(page.evaluate(COLUMN, 0))
    page.get_by_label(f"Filter the table {CAPTION}").fill("COMMIT")
    assert page.evaluate(COLUMN, 0) == ["OffsetCommit"] * 3
    assert page.locator(f"{TABLE} .tools [role=status]").inner_text() == f"3 of {n_all} rows"
    page.locator(TABLE).get_by_role("button", name="Answers").click()
    with page.expect_download() as download:
        page.get_by_label(f"Save what is shown of the table {CAPTION} as CSV").click()
    assert download.value.suggested_filename == "latency-by-api-and-broker.csv"
    rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    assert rows[0][:4] == ["API", "Broker", "Answers", "p50"]
    assert "logarithmic" not in rows[0][-1], "a column of pictures has nothing for CSV"
    assert [row[0] for row in rows[1:]] == ["OffsetCommit"] * 3
    counts = [int(row[2]) for row in rows[1:]]
    assert counts == sorted(counts, reverse=True)


def test_text_of_strangers_starts_no_formula(opened: Any, small_page: Any) -> None:
    page = opened(small_page("=cmd|' /C calc'!A0")).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    saved = page.get_by_label("Save what is shown of the table")
    for number in range(saved.count()):
        with page.expect_download() as download:
            saved.nth(number).dispatch_event("click")
        text = Path(download.value.path()).read_text("utf-8")
        assert not [cell for row in csv.reader(io.StringIO(text)) for cell in row if cell[:1] in "=+@" and cell]


def test_the_chart_of_latency_has_a_line_of_each_percentile_for_each_broker(opened: Any, real_page: Path) -> None:
    found = opened(real_page, size=(400, 800))
    picture = found.page.locator("svg.latency-lines")
    assert (
        picture.get_attribute("aria-label")
        == "p50 and p99 of each broker over the capture; the table below says the same"
    )
    assert picture.locator("path.p50").count() == picture.locator("path.p99").count() == 3
    assert picture.locator("text.strong").all_text_contents() == ["node 1", "node 2", "node 3"]
    assert all(
        path.startswith("M")
        for path in picture.locator("path").evaluate_all("all => all.map(p => p.getAttribute('d'))")
    )
    assert found.page.evaluate("document.documentElement.scrollWidth") == 400
    assert found.complaints == []
