"""Keeps libraries from loading pandas, which they look for and kafkascope does not use: it takes 0.3 s of processor
time and 40 MB in each process."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec


class _WithoutPandas(MetaPathFinder):
    """An import finder that hides pandas. (Cython's import, which pyarrow uses, ignores None in sys.modules.)"""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Raises ModuleNotFoundError for pandas; leaves every other module to the next finder."""
        if fullname == "pandas":
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


@contextmanager
def hidden_pandas() -> Iterator[None]:
    """Hides pandas from imports inside the `with` block, unless it is loaded already."""
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def arrow_without_pandas() -> None:
    """Makes pyarrow look for pandas now, and not find it: otherwise it loads pandas to check whether a list is a
    Series.

    pyarrow looks again when a caller uses pandas explicitly (`to_pandas`).
    """
    import pyarrow as pa

    if "pandas" not in sys.modules:
        with hidden_pandas():
            pa.array([0])
