"""The page of a real capture's dataset and of a made-up one, and the distribution's Chromium to open them in."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.html import write_html
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.page_model.page_model import page_model

EVENT_LOOP_WAIT_MS = 15_000


def chromium() -> str | None:
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def leader_move(told_leader_move: Path) -> Path:
    """The tables of fixtures/captures/leader_move.pcap.zst."""
    return told_leader_move


def write_page(dataset: Path, place: Path, **options: Any) -> Path:
    opened = Dataset.open(dataset)
    report = report_model(opened)
    write_html(report, page_model(opened, report, **options), place)
    return place


@pytest.fixture(scope="session", name="write_page")
def write_page_fixture() -> Callable[..., Path]:
    """What writes the page of a dataset."""
    return write_page


@pytest.fixture(scope="session")
def real_page(leader_move: Path) -> Path:
    return write_page(leader_move, leader_move.with_name("leader_move.html"))


@pytest.fixture
def small_page(tmp_path: Path, small: Any) -> Callable[..., Path]:
    """Makes the made-up dataset, with its later stories, and gives its page."""

    def make(text: str = "", name: str = "small", **options: Any) -> Path:
        dataset = small.write_dataset(tmp_path / f"{name}.kscope", text=text)
        for table, rows in later_rows(small, text).items():
            small.write_table(dataset, small.TABLES[table], rows)
        return write_page(dataset, tmp_path / f"{name}.html", **options)

    return make


def later_rows(small: Any, text: str) -> dict[str, list[dict[str, Any]]]:
    """A finding of each severity, two rebalances, two transactions."""
    at = small.at
    finding = {"client_instance_id": "p1", "conn_ids": ["c1"], "evidence": ["c1-9"], "n": 2, "first_ns": at(4990)}
    finding |= {"last_ns": at(5100), "advice": f"change it{text}", "subject": f"clicks{text}-0"}
    member = {
        "member_id": f"m{text}",
        "client_instance_id": "g1",
        "joined_ns": at(60),
        "synced_ns": at(90),
    }
    unread = {"topic": f"clicks{text}", "partition": 0, "owner_before": None, "owner_after": f"m{text}"}
    unread |= {"unread_from_ns": at(55), "unread_to_ns": at(125), "unread_ms": 70}
    rebalance = {"group_id": f"readers{text}", "group_protocol": "classic", "node_id": 2, "trigger": "member_joined"}
    transaction = {"transactional_id": f"pay{text}", "producer_id": 7, "producer_epoch": 1, "client_instance_id": "p1"}
    return {
        "findings": [
            {
                **finding,
                "finding_id": f"f{n}",
                "rule": "acks_zero",
                "severity": s,
                "sentence": f"a {s} was seen{text}",
            }
            for n, s in enumerate(("info", "warning", "error"))
        ],
        "rebalances": [
            {
                **rebalance,
                "rebalance_id": f"r{n}",
                "generation": n,
                "start_ns": at(50 + n * 100),
                "end_ns": at(95 + n * 100),
                "duration_ms": 45,
                "n_members": 1,
                "members": [member],
                "unread_ms": 70,
                "partitions": [unread],
                "last_joiner": f"m{text}",
            }
            for n in range(2)
        ],
        "transactions": [
            {
                **transaction,
                "transaction_no": n,
                "begin_ns": at(100 * n),
                "end_ns": at(100 * n + 50),
                "outcome": o,
                "partitions": [f"clicks{text}-0"],
                "n_records": 3,
            }
            for n, o in enumerate(("committed", "hanging"))
        ],
    }


@dataclass
class Opened:
    """A page in the browser, and what it did that it must not."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def complaints(self) -> list[str]:
        return self.messages + self.requests


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = chromium()
    if program is None:
        pytest.skip("no Chromium: scripts/ensure_browser.sh says how to get one")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--force-color-profile=srgb", "--disable-gpu"]
        )
        yield started
        started.close()


@pytest.fixture(scope="session")
def context_of(browser: Any) -> Iterator[Callable[[Path, tuple[int, int], str], Any]]:
    """The context of a size of the window and a colour scheme; one for all pages, as none of them stores anything.

    A first page stays open in it, and with it the process that draws the others: one more process for each page would
    take as long as the page.
    """
    contexts: dict[tuple[tuple[int, int], str], Any] = {}

    def context(file: Path, size: tuple[int, int], scheme: str) -> Any:
        if (size, scheme) not in contexts:
            window = {"width": size[0], "height": size[1]}
            made = browser.new_context(viewport=window, color_scheme=scheme, reduced_motion="reduce", locale="en-US")
            made.new_page().goto(file.as_uri())
            contexts[size, scheme] = made
        return contexts[size, scheme]

    yield context
    for made in contexts.values():
        made.close()


@pytest.fixture
def opened(context_of: Callable[[Path, tuple[int, int], str], Any]) -> Iterator[Callable[..., Opened]]:
    """Opens a page's file and waits until it has drawn itself."""
    pages = []

    def open_page(
        file: Path, *, fragment: str = "", size: tuple[int, int] = (1280, 800), scheme: str = "light"
    ) -> Opened:
        page = context_of(file, size, scheme).new_page()
        pages.append(page)
        found = Opened(page)
        page.on("console", lambda message: found.messages.append(message.text))
        page.on("pageerror", lambda error: found.messages.append(str(error)))
        page.on(
            "request",
            lambda request: found.requests.append(request.url) if request.url != file.as_uri() + fragment else None,
        )
        page.goto(file.as_uri() + fragment)
        page.wait_for_selector("html[data-ready]", timeout=EVENT_LOOP_WAIT_MS, state="attached")
        return found

    yield open_page
    for page in pages:
        page.close()
