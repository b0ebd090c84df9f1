"""The headline and the incidents, from rows whose truth is known: the expected words are written by hand."""

import base64
import json
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.report.commands import at_place
from kafkascope_analyzer.report.html import write_html
from kafkascope_analyzer.report.html.write import brief_of
from kafkascope_analyzer.report.markdown.report import to_markdown
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.report.page_model.page_model import page_model
from kafkascope_analyzer.report.plain import plain
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.report import render

Write = Callable[..., Path]
TITLE = "broker silent: node 1 (10.0.0.11:9092)"
NOT_OVER = "from 00:04.900 (04:28:12.900 UTC), not over when the capture ended"
STILL = "2 of 2 clients stalled, the longest for 5.00 s (reader); reader was still waiting when the capture ended."


def model_of(place: Path) -> Any:
    return as_json(report_model(Dataset.open(place)))


def as_json(report: Report) -> Any:
    return plain(report, clip=True)


def text_of(model: Report, width: int = 80, *, everything: bool = False) -> str:
    return page_of(render(model, everything=everything), width, ascii_only=False)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def calm(dataset: Write, small: ModuleType) -> Path:
    """Nothing failed: no incident, no stall, no failed start, no finding above info."""
    place = dataset()
    for name in ("incidents", "stalls", "startups", "findings"):
        small.write_table(place, small.TABLES[name], [])
    return place


def test_the_headline_says_what_failed_who_stalled_and_what_else_is_wrong(dataset: Write) -> None:
    result = model_of(dataset())["headline"]
    assert (result["verdict"], result["sentence"]) == (
        "error",
        f"1 incident, not over: {TITLE}, {NOT_OVER}.",
    )
    assert result["details"] == [
        STILL,
        "1 start failed: reader at join group.",
        "Besides, findings: 1 error (broker_lost).",
    ]
    assert (result["n_clients"], result["n_stalled_clients"], result["n_waiting_clients"]) == (2, 2, 1)
    assert (result["n_stalls"], result["longest_ms"], result["n_failed_starts"]) == (3, 5000, 1)


def test_of_several_incidents_the_headline_counts_all_and_names_that_of_the_longest_stall(
    dataset: Write, small: ModuleType
) -> None:
    place = dataset()
    first, second, _ = small.incident_rows("")["incidents"]
    alone = second | {"root_incident_id": None, "severity": "error"}
    small.write_table(place, small.TABLES["incidents"], [alone, first])
    found = model_of(place)
    worst = "leader moved: node 1 (10.0.0.11:9092), from 00:05.000 (04:28:13.000 UTC), not over when the capture ended"
    counts = "2 incidents (2 errors), 2 not over when the capture ended"
    assert found["headline"]["sentence"] == f"{counts}. The worst: {worst}."
    assert [row["incident_id"] for row in found["incidents"]["listed"]] == ["incident-2", "incident-1"]
    assert [row["n_stalls"] for row in found["incidents"]["listed"]] == [1, 2]


def test_the_headline_names_the_finding_of_an_incident_that_is_more_severe_than_all_incidents(
    dataset: Write, small: ModuleType
) -> None:
    place = dataset()
    first, *_ = small.incident_rows("")["incidents"]
    small.write_table(place, small.TABLES["startups"], [])
    small.write_table(place, small.TABLES["findings"], [{**FINDING, "severity": "error", "incident_id": "incident-1"}])
    sentence = "Findings that belong to incidents: 1 error (leader_storm)."
    assert sentence not in model_of(place)["headline"]["details"], "the incident is an error"
    small.write_table(place, small.TABLES["incidents"], [first | {"severity": "warning"}])
    headline = model_of(place)["headline"]
    assert (headline["verdict"], headline["details"][-1]) == ("error", sentence)


def test_where_nothing_failed_the_headline_says_so_and_counts_the_errors(calm: Path) -> None:
    result = model_of(calm)["headline"]
    assert (result["verdict"], result["sentence"]) == ("none", "Nothing failed that the capture shows.")
    assert result["details"] == [
        "None of 2 clients stalled for 1 s or longer, and no start failed. Brokers returned 1 error code; no "
        "client waited that long because of them."
    ]


def with_limit(place: Path, stall_ms: int) -> None:
    """The dataset as --stall makes it, with the same stories."""
    opened = Dataset.open(place)
    stories = {name: files for name, files in opened.manifest.files.items() if name.startswith("stories/")}
    with NewDataset(opened.storage) as new:
        new.commit(opened.with_stories(stories, stall_ms))


def test_the_words_name_the_limit_that_was_used(dataset: Write) -> None:
    place = dataset()
    with_limit(place, 2_000)
    found = model_of(place)
    assert found["incidents"]["stall_ms"] == 2_000
    result = STILL.replace("stalled,", "stalled for 2 s or longer,")
    assert result in found["headline"]["details"]


def test_where_nobody_stalled_the_words_name_the_limit_too(calm: Path) -> None:
    with_limit(calm, 500)
    (detail,) = model_of(calm)["headline"]["details"]
    assert detail.startswith("None of 2 clients stalled for 500 ms or longer, and no start failed.")


STALL = {"stall_id": "stall-9", "kind": "produce", "client_id": "svc", "client_instance_id": "p1", "topic": "clicks"}
FINDING = {"finding_id": "f-9", "rule": "leader_storm", "sentence": "a storm", "n": 1}
START = {"startup_id": "g1:1", "client_instance_id": "g1", "outcome": "failed", "failed_step": "join_group"}


@pytest.mark.parametrize(
    ("table", "row", "verdict", "sentence"),
    [
        (
            "stalls",
            {**STALL, "waited_ms": 1500, "end_ms": 1600},
            "warning",
            "1 of 2 clients stalled, the longest for 1.50 s (svc); all were served again.",
        ),
        (
            "stalls",
            {**STALL, "waited_ms": 10_000, "end_ms": 9_000},
            "error",
            "1 of 2 clients stalled, the longest for 10.0 s (svc); all were served again.",
        ),
        (
            "stalls",
            {**STALL, "waited_ms": 1500, "end_ms": 1600, "served": False},
            "warning",
            "1 of 2 clients stalled, the longest for 1.50 s (svc); svc gave up or ended without being served.",
        ),
        (
            "stalls",
            {**STALL, "waited_ms": 1500},
            "error",
            "1 of 2 clients stalled, the longest for 1.50 s (svc); svc was still waiting when the capture ended.",
        ),
        ("findings", {**FINDING, "severity": "error"}, "error", "Findings: 1 error (leader_storm)."),
        ("findings", {**FINDING, "severity": "warning"}, "warning", "Findings: 1 warning (leader_storm)."),
        ("startups", START, "error", "1 start failed: reader at join group."),
    ],
)
def test_the_headline_never_says_that_all_is_well_above_what_is_wrong(
    calm: Path, small: ModuleType, table: str, row: dict[str, Any], verdict: str, sentence: str
) -> None:
    row = dict(row)
    if table == "stalls":
        end_ms = row.pop("end_ms", None)
        row |= {"from_ns": small.at(100), "to_ns": None if end_ms is None else small.at(end_ms)}
    small.write_table(calm, small.TABLES[table], [row])
    report = report_model(Dataset.open(calm))
    headline = as_json(report)["headline"]
    assert (headline["verdict"], headline["sentence"]) == (verdict, sentence)
    page = flat(text_of(report))
    assert f"{verdict} {sentence}" in page
    assert "Nothing failed" not in page
    assert ("No client stalled" in page) == ((table, verdict) == ("findings", "warning"))


def test_a_routine_incident_whose_family_is_worse_is_none(calm: Path, small: ModuleType) -> None:
    """Somebody stalled because of what followed from it, or of itself."""
    rows = small.incident_rows("")
    stall = {**STALL, "from_ns": small.at(500), "to_ns": small.at(2000), "waited_ms": 1500, "incident_id": "incident-3"}
    small.write_table(calm, small.TABLES["incidents"], rows["incidents"][2:])
    assert model_of(calm)["headline"]["verdict"] == "none"
    small.write_table(calm, small.TABLES["incidents"], [rows["incidents"][2] | {"family_severity": "warning"}])
    small.write_table(calm, small.TABLES["stalls"], [stall])
    model = model_of(calm)
    (incident,) = model["incidents"]["listed"]
    assert (incident["severity"], incident["waits"][0]["lasted"]) == ("warning", "1.50 s")
    assert model["incidents"]["n_routine"] == 0


def test_who_stalled_is_one_line_for_each_client_and_service(dataset: Write) -> None:
    (incident,) = model_of(dataset())["incidents"]["listed"]
    lines = [(w["who"], w["what"], w["at"], w["lasted"], w["state"], w["n_stalls"]) for w in incident["waits"]]
    assert lines == [
        ("reader", "fetch from clicks-0 (group readers)", "00:05.000", "5.00 s", "still waiting", 1),
        ("svc", "produce to clicks-0 and 1 more", "00:04.990", "4.00 s", "over", 2),
    ]
    assert incident["waits"][1]["stall_ids"] == ["stall-1", "stall-2"]
    assert incident["waits"][1]["n_attempts"] == 4


def test_who_stalled_before_is_listed_under_the_second_incident_too(calm: Path, small: ModuleType) -> None:
    """The stall belongs to the first of two incidents, and went on while the second lasted."""
    first, second = (
        row | {"root_incident_id": None, "severity": "warning"} for row in small.incident_rows("")["incidents"][1:]
    )
    stall = {**STALL, "from_ns": small.at(500), "to_ns": small.at(2000), "waited_ms": 1500}
    stall |= {"incident_id": first["incident_id"]}
    small.write_table(calm, small.TABLES["incidents"], [first, second | {"earlier_stalls": [stall["stall_id"]]}])
    small.write_table(calm, small.TABLES["stalls"], [stall])
    model = model_of(calm)
    of_incident = {row["incident_id"]: row for row in model["incidents"]["listed"]}
    (own,), (earlier,) = (of_incident[row["incident_id"]]["waits"] for row in (first, second))
    assert earlier["what"] == f"{own['what']}, since an earlier incident"
    assert (earlier["who"], earlier["lasted"]) == (own["who"], own["lasted"])
    assert (of_incident[second["incident_id"]]["n_stalls"], model["headline"]["n_stalls"]) == (0, 1)


def test_what_followed_is_counted_and_named(dataset: Write) -> None:
    (incident,) = model_of(dataset())["incidents"]["listed"]
    assert incident["followed_text"] == (
        "1 incident, 1 failed start, 4 recoveries from errors, 1 transaction that was not committed, 1 finding"
    )
    later, starts, recoveries, transactions, findings = incident["followed"]
    assert starts["sentences"] == ["00:00.020 reader failed at join group"]
    assert transactions["ids"] == ["pay:2"]
    assert later["sentences"] == ["The leader of clicks-0 moved from node 1 to node 2."]
    assert recoveries["ids"] == ["p1:r0", "p1:r1", "p1:r2", "p1:r3"]
    assert recoveries["sentences"][3] == ("00:05.000 svc: NOT_LEADER_OR_FOLLOWER on clicks-3, recovered after 103 ms")
    assert findings["ids"] == incident["finding_ids"] == ["f-2"]


def test_a_finding_that_is_a_consequence_stands_under_the_incident_and_nowhere_else(dataset: Write) -> None:
    report = report_model(Dataset.open(dataset()))
    assert {row["finding_id"]: row["incident_id"] for row in as_json(report)["findings"]["listed"]} == {
        "f-1": None,
        "f-2": "incident-1",
        "f-3": None,
    }
    page = text_of(report)
    assert page.count("leader_storm") == 1
    assert page.index("Incidents (1)") < page.index("leader_storm") < page.index("Other findings (2)")


def test_a_finding_that_only_repeats_its_incident_is_not_said_again(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    incident, *_ = Dataset.open(place).read("stories/incidents").to_pylist()
    row = small.later_story_rows("")["findings"][0]
    same = {
        "sentence": f"{incident['sentence']} 2 clients had to recover",
        "advice": " ".join(action["text"] for action in incident["actions"]),
    }
    rows = [{**row, **same, "finding_id": "f-same"}, {**row, **same, "finding_id": "f-more", "advice": "lower a"}]
    small.write_table(place, small.TABLES["findings"], rows)
    model = model_of(place)
    assert {f["finding_id"]: f["incident_id"] for f in model["findings"]["listed"]} == dict.fromkeys(
        ("f-same", "f-more"), "incident-1"
    )
    assert model["incidents"]["listed"][0]["finding_ids"] == ["f-more"]


def test_findings_that_say_the_same_about_many_clients_are_one(calm: Path, small: ModuleType) -> None:
    row = {**FINDING, "severity": "warning", "advice": "do it", "first_ns": small.at(100), "last_ns": small.at(200)}
    rows = [
        {**row, "finding_id": "f-a", "client_instance_id": "p1", "n": 3, "evidence": ["c1:9"]},
        {**row, "finding_id": "f-b", "client_instance_id": "g1", "n": 8, "sentence": "reader stormed"},
        {**row, "finding_id": "f-c", "client_instance_id": "g1", "n": 1, "advice": "do other", "subject": "another"},
        {**row, "finding_id": "f-d", "client_instance_id": None},
    ]
    small.write_table(calm, small.TABLES["findings"], rows)
    found = {f["finding_id"]: f for f in model_of(calm)["findings"]["listed"]}
    assert set(found) == {"f-b", "f-c", "f-d"}
    both = found["f-b"]
    assert both["sentence"] == "2 clients (reader, svc), for example: reader stormed"
    assert (both["clients"], both["n"], both["finding_ids"]) == (["reader", "svc"], 11, ["f-b", "f-a"])
    assert both["cut"] == "kafkascope cut OUT.kscope --finding f-b --finding f-a -o f-b.pcapng"
    assert both["packets"] == "packets 31, 32"


def test_advice_that_differs_by_client_is_given_for_each(calm: Path, small: ModuleType) -> None:
    """Two clients of two libraries, at one broker: one finding, though each library has its own setting."""
    row = {
        **FINDING,
        "severity": "warning",
        "subject": "10.0.0.1:9092",
        "first_ns": small.at(100),
        "last_ns": small.at(200),
    }
    rows = [
        {**row, "finding_id": "f-a", "client_instance_id": "p1", "n": 3, "advice": "lower a"},
        {**row, "finding_id": "f-b", "client_instance_id": "g1", "n": 8, "advice": "lower b"},
        {**row, "finding_id": "f-c", "client_instance_id": "p1", "n": 1, "advice": "lower b", "subject": "another"},
        {**row, "finding_id": "f-d", "client_instance_id": "p1", "n": 1, "advice": "lower c", "subject": "a third"},
    ]
    small.write_table(calm, small.TABLES["findings"], rows)
    found = {f["finding_id"]: f for f in model_of(calm)["findings"]["listed"]}
    assert {name: finding["finding_ids"] for name, finding in found.items()} == {
        "f-b": ["f-b", "f-a", "f-c"],
        "f-d": ["f-d"],
    }
    assert found["f-b"]["advice"] == "For reader, svc: lower b For svc: lower a"


@pytest.mark.slow
def test_routine_is_one_line_and_listed_on_request(dataset: Write) -> None:
    place = dataset()
    runner = CliRunner()
    plain = runner.invoke(app, ["report", str(place)]).stdout
    assert "1 routine incident: 1 coordinator moved. Nobody stalled for 1 s or longer because of it." in flat(plain)
    assert "The coordinator of readers moved." not in plain
    listed = runner.invoke(app, ["report", str(place), "--all"]).stdout
    assert "The coordinator of readers moved." in listed
    assert "coordinator moved: group readers" in listed


@pytest.mark.slow
def test_every_form_has_the_same_names_numbers_and_verdicts(dataset: Write) -> None:
    report = report_model(Dataset.open(dataset()))
    model = as_json(report)
    incident = model["incidents"]["listed"][0]
    pages = {"terminal": flat(text_of(report)), "wide": flat(text_of(report, 132))}
    pages["markdown"] = flat(to_markdown(report))
    pages["without scripts"] = flat(" ".join(brief_of(report)))
    for name, page in pages.items():
        plain = page.replace("`", "")
        for words in (model["headline"]["sentence"], *model["headline"]["details"], incident["title"], NOT_OVER):
            assert flat(words) in plain, (name, words)
    del pages["without scripts"]
    for name, page in pages.items():
        plain = page.replace("`", "")
        for words in ("4.00 s", "5.00 s", "00:04.990", "still waiting", "svc", incident["followed_text"]):
            assert words in plain, (name, words)
        for words in (
            incident["actions"][0]["text"],
            incident["packets"],
            incident["wireshark"],
            "--incident incident-1",
        ):
            assert words in plain, (name, words)


def page_data(page: str) -> dict[str, Any]:
    """What the page's script draws: the JSON that is packed in its first data element."""
    (packed,) = re.findall(r'id="data-story">([^<]*)<', page)
    story: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return story


def is_part(part: Any, whole: Any) -> bool:
    """Whether part is the whole without some of its keys."""
    if isinstance(part, dict):
        return bool(part) and part.keys() <= whole.keys() and all(is_part(part[key], whole[key]) for key in part)
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(is_part, part, whole))
    return bool(part == whole)


def test_the_page_has_the_words_and_numbers_of_report_json(dataset: Write, tmp_path: Path) -> None:
    place = dataset()
    report = report_model(Dataset.open(place))
    model = plain(at_place(report, "small.kscope"))
    write_html(report, page_model(Dataset.open(place), report), tmp_path / "page.html")
    story = page_data((tmp_path / "page.html").read_text())
    start = model["capture"]["start_ns"]
    for name in ("headline", "incidents"):
        expected = json.loads(json.dumps(model[name]))
        assert is_part(story[name], without_origin(expected, start))
    assert [f["finding_id"] for f in story["findings"]["listed"]] == ["f-1", "f-2", "f-3"]
    assert {s["text"] for s in story["stalls"]} == {
        "waited 4.00 s: produce to clicks-0",
        "waited 2.00 s: produce to clicks-1",
        "waited 5.00 s, still waiting: fetch from clicks-0 (group readers)",
    }


def without_origin(value: Any, start_ns: int) -> Any:
    """The value with its times counted from the capture's start, as the page has them."""
    if isinstance(value, list):
        return [without_origin(part, start_ns) for part in value]
    if isinstance(value, dict):
        return {
            key: part - start_ns if key.endswith("_ns") and part is not None else without_origin(part, start_ns)
            for key, part in value.items()
        }
    return value


def test_the_terminal_keeps_to_80_columns_and_begins_with_the_headline(dataset: Write) -> None:
    page = text_of(report_model(Dataset.open(dataset())))
    assert max(map(len, page.splitlines())) <= 80
    order = ["error    1 incident, not over: broker", "Incidents (1)", "Other findings (2)", "Cluster", "To read on"]
    assert sorted(order, key=page.index) == order
    line = next(n for n, line in enumerate(page.splitlines()) if "00:04.990" in line)
    first, second = page.splitlines()[line : line + 2]
    assert first.split() == ["svc", "produce", "to", "clicks-0", "00:04.990", "4.00", "s", "over"]
    assert second.split() == ["and", "1", "more", "04:28:12.990"]


def test_what_the_first_screen_leaves_out_is_there_on_request(dataset: Write) -> None:
    report = report_model(Dataset.open(dataset()))
    first, rest = text_of(report), text_of(report, everything=True)
    for section in ("Rebalances (2)", "Requests", "Latency by API and broker"):
        assert section not in first
        assert section in rest
    assert "kafkascope report OUT.kscope --all" in first
    assert "--all" not in rest


def test_the_table_of_incidents_says_between_which_packets_the_fault_began(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    rows = small.incident_rows("")["incidents"]
    times = {"fault_start_after_ns": small.at(4800), "fault_start_ns": small.at(4900), "fault_end_ns": small.at(8000)}
    small.write_table(place, small.TABLES["incidents"], [rows[0] | times, *rows[1:]])
    report = report_model(Dataset.open(place))
    (incident,) = plain(report.incidents.listed)
    assert incident["fault_start"] == {
        "after_ns": small.at(4800),
        "by_ns": small.at(4900),
        "at": "00:04.800 - 00:04.900",
        "of_day": "04:28:12.800 - 04:28:12.900",
        "is_between": True,
    }
    assert incident["fault_end"]["at"] == "00:08.000"
    assert (incident["served_after"], incident["who"], incident["over_text"]) == (
        "4.09 s, 1 still waiting",
        "2 of 2 clients, longest 5.00 s",
        "no",
    )
    for page in (text_of(report), to_markdown(report)):
        assert "a - b: between the two; no packet shows it more exactly" in page
        assert flat(page).count("04:28:12.800") == 1


def test_a_fault_that_outlasts_its_harm_is_not_over(dataset: Write, small: ModuleType) -> None:
    """Clients that gave up do not show that the broker serves again."""
    place = dataset()
    row = small.incident_rows("")["incidents"][0] | {"end_ns": small.at(9900)}
    times = {"fault_start_after_ns": small.at(4800), "fault_start_ns": small.at(4900)}
    small.write_table(place, small.TABLES["incidents"], [row | times])
    small.write_table(place, small.TABLES["stalls"], [])
    model = model_of(place)
    (incident,) = model["incidents"]["listed"]
    assert (incident["over"], incident["over_text"], incident["fault_end"]) == (False, "no", None)
    assert incident["when"].endswith(", 5.00 s); the fault itself was not over when the capture ended")
    assert model["headline"]["sentence"].startswith("1 incident, not over: ")
    small.write_table(place, small.TABLES["incidents"], [row | times | {"fault_end_ns": small.at(9000)}])
    (incident,) = model_of(place)["incidents"]["listed"]
    assert (incident["over"], incident["over_text"]) == (True, "yes")


def test_the_course_of_an_incident_has_a_line_a_step_with_its_packet(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    rows = small.incident_rows("")["incidents"]
    steps = [("failed", 4900, 12, "node 1"), ("failed_over", 6000, None, "node 2 serves svc: clicks-0")]
    course = [{"step": step, "ts_ns": small.at(ms), "packet_no": no, "what": what} for step, ms, no, what in steps]
    small.write_table(place, small.TABLES["incidents"], [rows[0] | {"course": course}, *rows[1:]])
    report = report_model(Dataset.open(place))
    first, second = report.incidents.listed[0].course
    assert (first.step, first.at, first.of_day, first.packet_no) == ("failed", "00:04.900", "04:28:12.900", 12)
    assert (second.step, second.what) == ("failed over", "node 2 serves svc: clicks-0")
    assert "failed over 00:06.000 node 2 serves svc: clicks-0" in flat(text_of(report))
    assert "| failed over | 00:06.000 (04:28:14.000 UTC) | node 2 serves svc: clicks-0 |  |" in to_markdown(report)


def test_older_stories_say_what_is_missing_and_still_what_is_wrong(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    for name in ("incidents", "stalls"):
        shutil.rmtree(place / "stories" / name)
    small.relist(place)
    result = model_of(place)["headline"]
    assert result["verdict"] == "error"
    assert "older than this part" in result["sentence"]
    assert result["details"] == [
        "1 start failed: reader at join group.",
        "Findings: 1 error and 1 warning (broker_lost, leader_storm).",
    ]
    for name in ("startups", "findings"):
        small.write_table(place, small.TABLES[name], [])
    assert model_of(place)["headline"]["verdict"] == "unknown"


def test_an_incident_whose_root_is_not_in_the_table_or_goes_in_a_circle_stands_for_itself(
    dataset: Write, small: ModuleType
) -> None:
    place = dataset()
    first, second, third = small.incident_rows("")["incidents"]
    rows = [first | {"root_incident_id": "incident-2"}, second, third | {"root_incident_id": "gone"}]
    small.write_table(place, small.TABLES["incidents"], rows)
    found = model_of(place)["incidents"]
    assert sum(len(f["followed"]) > 0 for f in found["listed"]) >= 1
    assert found["n_routine"] == 1


def test_hostile_names_stay_text(dataset: Write) -> None:
    page = text_of(report_model(Dataset.open(dataset(text="\x1b[31m\u202e"))))
    assert "\x1b" not in page
    assert "\u202e" not in page
