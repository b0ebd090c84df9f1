"""Numbers for names: they lead back to the name, and do not depend on which came first."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.report.page_model import names as module
from kafkascope_analyzer.report.page_model.names import NONE, OTHER, Names

COLUMN = st.lists(st.none() | st.text(max_size=3), max_size=30)


@settings(max_examples=60)
@given(COLUMN, COLUMN)
def test_a_number_leads_back_to_its_name(first: list[str | None], second: list[str | None]) -> None:
    names = Names()
    numbers = [names.indices(pa.array(column, pa.string())) for column in (first, second)]
    for column, found in zip((first, second), numbers, strict=True):
        assert [None if n == NONE else names.listed[n] for n in found] == column
    before = [[names.listed[n] for n in found] for found in numbers]
    order = names.in_order()
    assert [[names.listed[order[n]] for n in found] for found in numbers] == before
    assert names.listed[OTHER + 1 :] == sorted(set(first + second) - {None})  # type: ignore[type-var]
    assert all(names.index(name) == n for n, name in enumerate(names.listed) if n > OTHER)


def test_names_beyond_the_limit_share_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NAMES", 4)
    names = Names()
    assert [names.index(name) for name in ("a", "b", "c", "d", "a")] == [2, 3, OTHER, OTHER, 2]
    assert names.listed[OTHER] == "(one of too many names)"
    assert np.array_equal(names.indices(pa.array([], pa.string())), np.array([], np.int64))
