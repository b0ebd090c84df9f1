"""What lets a command start fast: less to import, less to sweep."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path

_GARBAGE_THRESHOLD = 500_000
"""Objects between two sweeps of the youngest generation. Imports make half a million and no garbage; after them rows
are Arrow's and numpy's, which are not swept."""


def sweep_seldom() -> None:
    """Lets the collector wait for more garbage than a start makes."""
    gc.set_threshold(_GARBAGE_THRESHOLD)


def end_without_sweep() -> None:
    """Leaves what there is to the system: at its end the interpreter would sweep it all once more (0.1 s)."""
    gc.freeze()


class _NotInstalled(MetaPathFinder):
    """Hides packages."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Raises ModuleNotFoundError for the packages, finds nothing else."""
        if fullname in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def arrow_without_pandas() -> None:
    """Has pyarrow look for pandas now and not find it: it would load it (0.2 s, 40 MB) to see whether a list is a
    Series.

    pyarrow tries again when something asks for pandas by name (`to_pandas`).
    """
    with _without("pandas"):
        import pyarrow as pa

        pa.array([0])
    _load_functions_undescribed()


def _load_functions_undescribed() -> None:
    """Loads pyarrow's functions without the descriptions of their options, which it would cut out of the options' own
    (0.02 s) for who asks for help on them in a Python session."""
    from pyarrow.vendored import docscrape

    described = docscrape.NumpyDocString
    docscrape.NumpyDocString = lambda text: {"Parameters": []}
    try:
        import pyarrow.compute  # noqa: F401
    finally:
        docscrape.NumpyDocString = described


def numba_alone() -> None:
    """Has numba not find what it would load (0.03 s) for tests of coverage and for a configuration file in YAML, where
    there is neither."""
    with _without("coverage") if Path(".numba_config.yaml").exists() else _without("coverage", "yaml"):
        import numba  # noqa: F401


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Hides those packages that are not loaded yet."""
    finder = _NotInstalled(*(name for name in names if name not in sys.modules))
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
