"""Work on one item while the next one is made."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, each made in a thread while the caller is at work on the one before it."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(_next, items)
        while item := coming.result():
            coming = pool.submit(_next, items)
            yield item[0]


def _next(items: Iterator[T]) -> tuple[T] | None:
    """The next item; None at the end."""
    for item in items:
        return (item,)
    return None
