"""Items made ahead come in order, one ahead of the caller, and so does what goes wrong with them."""

import pytest

from kafkascope_analyzer.resolve.flow.ahead import ahead


@pytest.mark.parametrize("items", [[], [0], [None, 0, "", 3], list(range(100))])
def test_the_items_come_in_order(items):
    assert list(ahead(iter(items))) == items


def test_an_error_comes_behind_the_items_before_it():
    def items():
        yield 1
        raise OSError("the disk is gone")

    made = ahead(items())
    assert next(made) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(made)


def test_no_more_than_the_next_item_is_made():
    made = []

    def items():
        for i in range(10):
            made.append(i)
            yield i

    for item in ahead(items()):
        assert len(made) <= item + 2
