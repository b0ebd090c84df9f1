#!/usr/bin/env python3
"""Measures the HTML report with two million requests on five thousand connections.

    python -m benchmarks.html_scale DATASET.kscope [--copies 29] [--rounds 12] [--keep FOLDER]

Tiles a recorded dataset: every copy has clients and connections of its own, every round is the same traffic once more
later on. Then writes the page and opens it in headless Chromium. Prints: size of the file, time and peak memory to
write it, time from navigation until the page has drawn itself, and what frames take while the timeline is dragged.
"""

import argparse
import json
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, written_files
from kafkascope_analyzer.report.html import write_html
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.page_model.page_model import page_model

EVERY_ROUND = ("requests", "partitions", "errors")
EVERY_COPY = ("connections", "roles", "tcp_events", "stories/clients", "stories/startups", "stories/startup_steps")
EVERY_COPY += ("stories/recoveries", "stories/recovery_steps")
AS_IT_IS = ("captures", "topology", "undecoded", "messages", "dns")
_IDS = ("conn_id", "client_instance_id", "startup_id", "recovery_id", "cause_id")
_ID_LISTS = ("conn_ids", "evidence", "request_ids")
_LATER = 1_000_000
"""Added to a request's number in each further round."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--copies", type=int, default=29)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        large = place / "large.kscope"
        if not large.is_dir():
            tile(options.dataset, large, options.copies, options.rounds)
        page = place / "large.html"
        made = written(large, page)
        print(json.dumps(made | opened(page), indent=2))


def tile(source: Path, out: Path, copies: int, rounds: int) -> None:
    """Writes the larger dataset."""
    out.mkdir(parents=True)
    for name in AS_IT_IS:
        if (source / name).is_dir():
            shutil.copytree(source / name, out / name)
    captures = pq.read_table(source / "captures")
    length = pc.max(captures["last_ns"]).as_py() - pc.min(captures["first_ns"]).as_py() + 1_000_000_000
    for name in (*EVERY_COPY, *EVERY_ROUND):
        write_tiles(
            source / name, out / name, copies, [n * length for n in range(rounds if name in EVERY_ROUND else 1)]
        )
    last = captures["last_ns"].to_numpy()[0] + (rounds - 1) * length
    captures = captures.set_column(captures.schema.get_field_index("last_ns"), "last_ns", pa.array([last]))
    for old in (out / "captures").iterdir():
        old.unlink()
    pq.write_table(captures, out / "captures" / "part-0.parquet")
    manifest = Dataset.open(source).manifest.with_files(written_files(out))
    (out / MANIFEST).write_text(manifest.to_json())


def write_tiles(source: Path, out: Path, copies: int, shifts: list[int]) -> None:
    table = pq.read_table(source)
    if "request_id" in table.column_names:
        table = table.filter(pc.invert(pc.match_substring(pc.coalesce(table["request_id"], ""), "-r")))
    out.mkdir(parents=True)
    with pq.ParquetWriter(out / "part-0.parquet", table.schema, compression="zstd") as writer:
        for copy in range(copies):
            for turn, shift in enumerate(shifts):
                writer.write_table(tiled(table, copy, turn, shift))


def tiled(table: pa.Table, copy: int, turn: int, shift: int) -> pa.Table:
    """The table's rows as those of another copy at a later time."""
    for number, field in enumerate(table.schema):
        column = table.column(number)
        if field.name in _IDS:
            column = renamed(column, copy)
        elif field.name == "request_id":
            parts = pc.split_pattern(column, "-", max_splits=1)
            tail = pc.add(pc.cast(pc.list_element(parts, 1), pa.int64()), turn * _LATER)
            column = pc.binary_join_element_wise(
                renamed(pc.list_element(parts, 0), copy), pc.cast(tail, pa.string()), "-"
            )
        elif field.name in _ID_LISTS:
            column = pa.array([ids and [renamed_id(i, copy) for i in ids] for ids in column.to_pylist()], field.type)
        elif field.name == "client_ip":
            column = pc.binary_join_element_wise(column, pa.scalar(str(copy)), ".")
        elif field.name == "client_id":
            column = pc.binary_join_element_wise(column, pa.scalar(str(copy)), "-")
        elif field.name.endswith("_ns") and shift:
            column = pc.add(column, shift)
        table = table.set_column(number, field, column.cast(field.type))
    return table


def renamed(column: Any, copy: int) -> Any:
    return pc.binary_join_element_wise(column, pa.scalar(f"{copy:04x}"), "")


def renamed_id(name: str, copy: int) -> str:
    head, dash, tail = name.partition("-")
    return f"{head}{copy:04x}{dash}{tail}" if dash and tail.isdigit() else f"{name}{copy:04x}"


def written(dataset: Path, page: Path) -> dict[str, Any]:
    begin = time.process_time()
    opened = Dataset.open(dataset)
    report = report_model(opened)
    write_html(report, page_model(opened, report), page)
    return {
        "requests": pq.ParquetDataset(dataset / "requests").read(columns=[]).num_rows,
        "connections": pq.ParquetDataset(dataset / "connections").read(columns=[]).num_rows,
        "write_cpu_s": round(time.process_time() - begin, 1),
        "write_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000,
        "file_mb": round(page.stat().st_size / 1e6, 1),
    }


_DRAG = """() => new Promise((done) => {
  const canvas = document.querySelector("canvas.lanes");
  const box = canvas.getBoundingClientRect();
  const place = (x) => ({ pointerId: 1, clientX: box.left + x, clientY: box.top + 100, bubbles: true });
  const at = (kind, x) => canvas.dispatchEvent(new PointerEvent(kind, place(x)));
  canvas.setPointerCapture = () => {};
  at("pointerdown", 700);
  const frames = [];
  let before = performance.now();
  const step = (now) => {
    frames.push(now - before);
    before = now;
    if (frames.length > 120) { at("pointerup", 100); return done(frames.slice(1)); }
    at("pointermove", 700 - 4 * frames.length);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def opened(page: Path) -> dict[str, Any]:
    """Opens the page three times; drags the whole view's half, then a hundredth of it."""
    from playwright.sync_api import sync_playwright

    times, figures = [], {}
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(3):
            tab = browser.new_page(viewport={"width": 1440, "height": 900})
            begin = time.perf_counter()
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
            tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            times.append(round(time.perf_counter() - begin, 2))
            if len(times) < 3:
                tab.close()
        tab.evaluate("document.getElementById('timeline').scrollIntoView()")
        tab.locator("canvas.lanes").focus()
        for name, presses in (("half", 2), ("hundredth", 8)):
            for _ in range(presses):
                tab.keyboard.press("+")
            tab.wait_for_timeout(500)
            frames = sorted(tab.evaluate(_DRAG))
            figures[f"pan_{name}_ms"] = {
                "median": round(statistics.median(frames), 1),
                "p95": round(frames[int(len(frames) * 0.95)], 1),
                "worst": round(frames[-1], 1),
            }
        tab.get_by_role("button", name="Open all").click()
        tab.wait_for_timeout(500)
        frames = sorted(tab.evaluate(_DRAG))
        figures["pan_open_ms"] = {
            "median": round(statistics.median(frames), 1),
            "p95": round(frames[int(len(frames) * 0.95)], 1),
        }
        browser.close()
    return {"open_s": times, **figures}


if __name__ == "__main__":
    main()
