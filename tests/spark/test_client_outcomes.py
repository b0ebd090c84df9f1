"""Clients of recorded captures that gave up or were never let in are not shown as well."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.client_outcomes import client_outcomes, outcome_of
from kafkascope_analyzer.report.model.clients import clients
from kafkascope_analyzer.report.page_model.lanes import load_lanes

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", ["misadvertised", "refused_entry", "leader_move"])
def test_no_client_is_well_that_did_not_get_ready_or_did_not_recover(
    dataset_of: Callable[..., Path], name: str
) -> None:
    dataset = Dataset.open(dataset_of(name))
    listed = clients(dataset).listed
    for client in listed:
        unwell = [start for start in client.starts if start.outcome in ("failed", "gave_up")]
        unwell_at_end = client.starts and client.starts[-1].outcome in ("failed", "gave_up")
        if unwell or client.recoveries or client.longest_stall:
            assert client.outcome != "well", client.client_id
        if unwell_at_end:
            assert client.outcome in ("gave_up", "never_served"), client.client_id
    assert {client.outcome for client in listed} & {"well", "recovered"} or name == "refused_entry"
    outcomes = client_outcomes(dataset)
    shown = {lane.client_instance_id: lane for lane in load_lanes(dataset).clients}
    for client in listed:
        assert client.client_instance_id in shown
        assert outcome_of(outcomes, client.client_instance_id).outcome == client.outcome, "the page has the same"
