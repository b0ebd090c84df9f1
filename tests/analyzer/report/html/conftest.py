"""The page of a real capture's dataset and of a made-up one, and the distribution's Chromium to open them in."""

import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.html import write_html
from kafkascope_analyzer.report.model import report_model

FIXTURES = Path(__file__).parents[4] / "fixtures"
EVENT_LOOP_WAIT_MS = 15_000


def chromium() -> str | None:
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def leader_move(tmp_path_factory: pytest.TempPathFactory, small: Any) -> Path:
    """The tables of fixtures/captures/leader_move.pcap.zst, and what its truth says of node 3 as incident rows."""
    folder = tmp_path_factory.mktemp("html")
    with tarfile.open(FIXTURES / "datasets" / "leader_move.kscope.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    for name, rows in incident_rows().items():
        small.write_table(folder / "leader_move.kscope", small.TABLES[name], rows)
    return folder / "leader_move.kscope"


START = 1_795_235_314_577_032_028
NODE_3 = "node 3 (10.77.0.13:9092)"


def incident_rows() -> dict[str, list[dict[str, Any]]]:
    """Node 3 is down from 12.677 s to 28.407 s; three clients stand still, one is not served again."""

    def after(seconds: float) -> int:
        return START + round(seconds * 1_000_000_000)

    incident = {"incident_id": "incident-00000000000000a1", "kind": "broker_down", "node_id": 3, "subject": NODE_3}
    incident |= {"start_ns": after(12.677), "end_ns": after(28.407), "severity": "error", "hosts": []}
    incident |= {"sentence": "Node 3 closed its connections at 04:28:47.254 UTC and refused new ones for 15.7 s."}
    incident |= {"advice": "Look at the log of node 3.", "how_known": "6 clients were refused", "n_stalls": 3}
    incident |= {"clients": ["ci-3de7d4f5aec9d736", "ci-4a96b5cf2d8f53a3", "ci-9e862011a797631b"]}
    incident |= {"evidence": ["63d022c7493f2356-52", "539ed4af9487ba3c-94", "41117c5bdf655554"]}
    routine = {**incident, "incident_id": "incident-00000000000000a2", "kind": "leader_move", "severity": "info"}
    routine |= {"start_ns": after(6.82), "end_ns": after(7.35), "node_id": 2, "evidence": [], "clients": []}
    stall = {"kind": "produce", "client_id": "svc-a-1", "client_instance_id": "ci-3de7d4f5aec9d736", "node_id": 3}
    stall |= {"topic": "clicks-leader60", "partition": 0, "incident_id": incident["incident_id"], "n_attempts": 7}
    stall |= {"error_names": ["CONNECTION_REFUSED"], "evidence": ["41117c5bdf655554-44"]}
    reader = {"kind": "consume", "client_id": "order-api-5", "client_instance_id": "ci-4a96b5cf2d8f53a3"}
    reader |= {"group_id": "billing-leader5"}
    state = {"node_id": 3, "server_ip": "10.77.0.13", "server_port": 9092, "host_kind": "client", "n_waiting": 0}
    states = []
    for host in ("10.77.0.101", "10.77.0.103"):
        for name, begin, end in (("serving", 0.0, 12.677), ("down", 12.677, 27.9), ("serving", 27.9, None)):
            row = {**state, "host": host, "state": name, "from_ns": after(begin)}
            states.append({**row, "to_ns": None if end is None else after(end)})
    return {
        "incidents": [incident, {**routine, "subject": "node 2", "sentence": "Leaders moved."}],
        "stalls": [
            {**stall, "stall_id": "stall-1", "from_ns": after(12.7), "to_ns": after(28.405), "waited_ms": 15705},
            {**stall, "stall_id": "stall-2", "partition": 4, "from_ns": after(12.8), "to_ns": after(16.0)}
            | {"waited_ms": 3200},
            {**stall, **reader, "stall_id": "stall-3", "from_ns": after(12.69), "to_ns": after(21.71)}
            | {"waited_ms": 9020},
        ],
        "broker_states": states,
    }


def write_page(dataset: Path, place: Path, **options: Any) -> Path:
    write_html(Dataset.open(dataset), report_model(Dataset.open(dataset)), place, **options)
    return place


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
        "stopped_ms": 20,
    }
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
            executable_path=program, args=["--no-sandbox", "--force-color-profile=srgb"]
        )
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a page's file and waits until it has drawn itself."""
    contexts = []

    def open_page(
        file: Path, *, fragment: str = "", size: tuple[int, int] = (1280, 800), scheme: str = "light"
    ) -> Opened:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce", locale="en-US"
        )
        contexts.append(context)
        page = context.new_page()
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
    for context in contexts:
        context.close()
