"""Iterates over items, producing the next one in a thread while the caller works on the current one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yields the items, each made in a thread while the caller works on the previous one."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(_next, items)
        while item := coming.result():
            coming = pool.submit(_next, items)
            yield item[0]


def _next(items: Iterator[T]) -> tuple[T] | None:
    """Returns the next item in a tuple; None at the end."""
    for item in items:
        return (item,)
    return None
