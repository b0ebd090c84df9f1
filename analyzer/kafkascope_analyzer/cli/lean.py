"""What lets a command start fast: less to import, less to sweep."""

import gc
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec

_GARBAGE_THRESHOLD = 100_000
"""Objects between two sweeps of the youngest generation. Imports make half a million and no garbage; after them rows
are Arrow's and numpy's, which are not swept."""


def sweep_seldom() -> None:
    """Lets the collector wait for more garbage than a start makes."""
    gc.set_threshold(_GARBAGE_THRESHOLD)


class _NotInstalled(MetaPathFinder):
    """Hides a package."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Raises ModuleNotFoundError for the package, finds nothing else."""
        if fullname == self._name:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def arrow_without_pandas() -> None:
    """Has pyarrow look for pandas now and not find it: it would load it (0.2 s) to see whether a list is a Series.

    pyarrow tries again when something asks for pandas by name (`to_pandas`).
    """
    if "pandas" in sys.modules:
        return
    finder = _NotInstalled("pandas")
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
