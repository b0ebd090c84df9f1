"""The column `cluster` of rows of one cluster."""

import pytest

from kafkascope_analyzer.resolve.cluster_column import coded


@pytest.mark.parametrize("n", [0, 1, 70_000])
def test_each_row_has_the_name_which_is_stored_once(n: int) -> None:
    column = coded("broker\x00 1 ü", n)
    assert column.dictionary.to_pylist() == ["broker\x00 1 ü"]
    assert column.to_pylist() == ["broker\x00 1 ü"] * n
