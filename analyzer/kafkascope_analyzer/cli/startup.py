"""Makes a command start and end faster: fewer imports and fewer garbage collections."""

import atexit
import gc
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec

_GARBAGE_THRESHOLD = 500_000
"""New objects before a collection of the youngest generation. Imports create half a million objects and no garbage;
later rows live in Arrow and numpy, which the collector does not traverse."""


def relax_gc() -> None:
    """Raises the garbage collector's threshold above the number of objects that the imports create."""
    gc.set_threshold(_GARBAGE_THRESHOLD)


def end_process(code: int | str | None) -> None:
    """Ends the process with the code of a SystemExit, after its exit handlers, without freeing its objects one by one
    (0.3 s of a small `analyze`; mypy ends so too). Returns where the interpreter has to end the process itself: for a
    message as code, and for output that cannot be written any more.
    """
    if isinstance(code, str):
        sys.exit(code)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)
    os._exit(code or 0)


class _WithoutPandas(MetaPathFinder):
    """An import finder that hides pandas. (Cython's import, which pyarrow uses, does not heed None in sys.modules.)"""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Raises ModuleNotFoundError for pandas; leaves every other module to the next finder."""
        if fullname == "pandas":
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def arrow_without_pandas() -> None:
    """Makes pyarrow look for pandas now, and not find it: otherwise it loads pandas (a tenth of the processor time of a
    small ingest, 40 MB; benchmarks/startup.py) to check whether a list is a Series.

    pyarrow looks again when pandas is asked for by name (`to_pandas`).
    """
    import pyarrow as pa

    if "pandas" in sys.modules:
        return
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
