"""Makes a command start faster: fewer imports and fewer garbage collections."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path

_GARBAGE_THRESHOLD = 500_000
"""New objects before a collection of the youngest generation. Imports create half a million objects and no garbage;
later rows live in Arrow and numpy, which the collector does not traverse."""


def relax_gc() -> None:
    """Raises the garbage collector's threshold above the number of objects that the imports create."""
    gc.set_threshold(_GARBAGE_THRESHOLD)


def skip_final_gc() -> None:
    """Excludes all objects from garbage collection: the interpreter would traverse them when it ends (0.1 s).

    Not where DuckDB was used: its bindings (nanobind) print a line for each function that is not collected at the end.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()


class _NotInstalled(MetaPathFinder):
    """An import finder that hides the named packages."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Raises ModuleNotFoundError for a hidden package; leaves every other one to the next finder."""
        if fullname in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def arrow_without_pandas() -> None:
    """Makes pyarrow look for pandas now, and not find it: otherwise it loads pandas (0.2 s, 40 MB) to check whether a
    list is a Series.

    pyarrow looks again when pandas is asked for by name (`to_pandas`).
    """
    with _without("pandas"):
        import pyarrow as pa

        pa.array([0])
    _load_functions_without_docs()


def _load_functions_without_docs() -> None:
    """Loads pyarrow's compute functions without the descriptions of their options, which it parses from docstrings
    (0.02 s) and which only `help()` shows."""
    from pyarrow.vendored import docscrape

    original = docscrape.NumpyDocString
    docscrape.NumpyDocString = lambda text: {"Parameters": []}
    try:
        import pyarrow.compute  # noqa: F401
    finally:
        docscrape.NumpyDocString = original


def numba_without_extras() -> None:
    """Imports numba without the packages that it loads (0.03 s) only to measure coverage and to read a configuration
    file in YAML; with YAML where there is such a file."""
    with _without("coverage") if Path(".numba_config.yaml").exists() else _without("coverage", "yaml"):
        import numba  # noqa: F401


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Hides those of the packages that are not loaded yet, during the block."""
    finder = _NotInstalled(*(name for name in names if name not in sys.modules))
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
