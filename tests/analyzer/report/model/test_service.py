"""Service levels, racks and security in a report: what the saved questions answer, and what the lab knows of it."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.restriction import Restriction
from kafkascope_analyzer.report.formatting import size
from kafkascope_analyzer.report.markdown.service import markdown_racks, markdown_security, markdown_service_levels
from kafkascope_analyzer.report.model.racks import RackReader, Racks, racks
from kafkascope_analyzer.report.model.security import Security, security
from kafkascope_analyzer.report.model.service_levels import ServiceLevels, service_levels
from kafkascope_analyzer.report.model.traffic import report_tables
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.service import render_racks, render_security, render_service_levels

Sections = tuple[ServiceLevels, Racks, Security]


def sections_of(dataset: Dataset) -> Sections:
    with report_tables(dataset) as database:
        return service_levels(database), racks(database), security(database)


@pytest.fixture(scope="module")
def sections(whole: Dataset) -> Sections:
    return sections_of(whole)


def test_levels_are_of_the_groups_that_the_lab_ran(sections: Sections, truth: Any) -> None:
    levels = sections[0]
    assert {(row.topic, row.group_id) for row in levels.listed} == {
        ("clicks-leader60", group) for group in truth["groups"]
    }
    assert {row.n_minutes for row in levels.listed} == {2}, "it lasts from 04:28:34 to 04:29:09"
    assert {row.lag_last for row in levels.listed} == {0}, "all records were read before the consumers closed"


def test_bytes_between_racks_are_those_of_connections_between_brokers(
    sections: Sections, truth: Any, whole: Dataset
) -> None:
    """Only hosts of brokers have a rack in this capture: no client says its own."""
    rack = {broker["ip"]: broker["rack"] for broker in truth["cluster"]["brokers"]}
    columns = ["protocol", "client_ip", "server_ip", "client_bytes", "server_bytes", "node_id"]
    found: Counter[tuple[str, str]] = Counter()
    for row in whole.read("connections", columns).to_pylist():
        ends = rack.get(row["client_ip"]), rack.get(row["server_ip"])
        if row["protocol"] == "kafka" and row["node_id"] is not None and None not in ends and ends[0] != ends[1]:
            found[ends] += row["client_bytes"] + row["server_bytes"]  # type: ignore[index]
    crossing = sections[1]
    assert crossing.bytes == found.total() > 0
    assert all(row.by_broker for row in crossing.listed)
    assert crossing.readers == ()


def test_everybody_comes_in_as_the_lab_let_them(sections: Sections, truth: Any) -> None:
    found = sections[2]
    assert {client["security"] for client in truth["clients"]} == {"PLAINTEXT"}
    clients = {(row.client_id, row.client_ip) for row in found.listed}
    assert clients >= {(client["client_id"], client["host_ip"]) for client in truth["clients"]}
    assert {row.transport for row in found.listed} == {"plain text"}
    assert found.n_plain_text == sum(row.n_connections for row in found.listed)
    assert (found.n_denied, found.n_failed_logins) == (0, 0)


def test_a_part_of_connections_has_no_bytes_between_racks(whole: Dataset) -> None:
    levels, crossing, found = sections_of(whole.concerning(Restriction(groups=("billing-leader29",))))
    assert [row.group_id for row in levels.listed] == ["billing-leader29"]
    assert not crossing.present
    assert {row.client_id for row in found.listed} == {"order-api-5"}


def test_each_form_shows_them_and_keeps_names_as_text(sections: Sections) -> None:
    levels, crossing, found = sections
    hostile = "a|b\x1b[2J"
    reader = RackReader(hostile, "10.0.0.9", "rack-z", 0, 5_000, 0, "no broker is in that rack", "c-1", None)
    crossing = replace(crossing, n_readers=1, readers=(reader,))
    found = replace(found, listed=(replace(found.listed[0], client_id=hostile, denied=("Fetch X",)), *found.listed[1:]))
    shown = [*render_service_levels(levels), *render_racks(crossing), *render_security(found)]
    page = page_of(shown, 80, ascii_only=True)
    assert max(map(len, page.splitlines())) <= 80
    assert f"From one rack to another: {size(crossing.bytes)}" in page
    assert "5.0 kB read outside; no broker is in that rack" in " ".join(page.split())
    parts = (markdown_service_levels(levels), markdown_racks(crossing), markdown_security(found))
    text = "\n".join(one for part in parts for one in part)
    assert "\x1b" not in page + text
    assert "a\\x7cb" in text
    for heading in ("## Service levels", "## Racks", "## How clients connect"):
        assert heading in text
