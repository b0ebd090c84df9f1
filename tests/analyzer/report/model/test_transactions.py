"""The section of transactions, against the rows counted in plain Python."""

import random
from collections import Counter
from types import ModuleType

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.traffic import report_tables
from kafkascope_analyzer.report.model.transactions import MOST_UNWELL, OUTCOMES, Transactions, transactions


@pytest.fixture
def rows(small: ModuleType) -> list[dict[str, object]]:
    """300 transactions of five ids, of which one is always well."""
    chance = random.Random(4)
    made = []
    for number in range(300):
        name = chance.choice(["a", "b", "c", None, "well"])
        outcome = "committed" if name == "well" else chance.choice(OUTCOMES)
        begin_ns = small.at(chance.randrange(5000))
        row = {"transactional_id": name, "transaction_no": number, "outcome": outcome, "begin_ns": begin_ns}
        row |= {
            "end_ns": begin_ns + 1000 * number if outcome in ("committed", "aborted") else None,
            "n_records": number,
        }
        made.append({**row, "client_instance_id": "p1" if number % 2 else None, "transactions": "v2"})
    return made


@pytest.fixture
def section(dataset, small: ModuleType, rows: list[dict[str, object]]) -> Transactions:
    place = dataset()
    small.write_table(place, small.TABLES["transactions"], rows)
    with report_tables(Dataset.open(place)) as database:
        return transactions(database)


def test_every_transaction_counts_once(section: Transactions, rows: list[dict[str, object]]) -> None:
    counts = Counter(str(row["outcome"]) for row in rows)
    assert section.outcomes == {outcome: counts[outcome] for outcome in OUTCOMES}
    assert (section.n, section.n_ids, section.present) == (300, 5, True)
    for one in section.ids:
        mine = [row for row in rows if (row["transactional_id"] or "") == one.transactional_id]
        assert one.n == len(mine)
        assert one.n_records == sum(int(str(row["n_records"])) for row in mine)
        assert one.first_ns == min(int(str(row["begin_ns"])) for row in mine)
        assert [client.client_id for client in one.clients] == ["svc"]


def test_those_in_trouble_come_first_with_their_gravest(section: Transactions, rows: list[dict[str, object]]) -> None:
    assert section.ids[-1].transactional_id == "well"
    assert section.ids[-1].unwell == ()
    for one in section.ids[:-1]:
        unwell = [row for row in rows if (row["transactional_id"] or "") == one.transactional_id]
        unwell = [row for row in unwell if row["outcome"] != "committed"]
        assert one.n_unwell == sum(row["outcome"] != "cut" for row in unwell)
        order = ["hanging", "fenced", "aborted", "open"]
        known = [row for row in unwell if row["outcome"] in order]
        known.sort(key=lambda row: (order.index(str(row["outcome"])), row["begin_ns"], row["transaction_no"]))
        shown = sorted(known[:MOST_UNWELL], key=lambda row: int(str(row["begin_ns"])))
        assert {row.transaction_no for row in one.unwell} == {row["transaction_no"] for row in shown}
        assert [row.begin_ns for row in one.unwell] == [row["begin_ns"] for row in shown]
