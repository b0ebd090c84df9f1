"""Makes a command start and end faster: less is compiled during imports, and garbage is rarely collected."""

import atexit
import dataclasses
import gc
import os
import sys
from collections.abc import Callable
from typing import Any

_GARBAGE_THRESHOLD = 500_000
"""New objects before a collection of the youngest generation. Imports create half a million objects and no garbage;
later rows are in Arrow and numpy, which the collector does not traverse."""


def relax_gc() -> None:
    """Raises the garbage collector's threshold above the number of objects that the imports create."""
    gc.set_threshold(_GARBAGE_THRESHOLD)


def compile_methods_late() -> None:
    """Has a method of a dataclass compiled when it is first called.

    dataclasses composes the source of __init__, __eq__, __repr__ and others and compiles each by itself when the class
    is defined. For the 200 classes that `ingest` imports that is a fifth of the time until it reads its first block,
    and most of these methods are never called. Python 3.13 compiles all methods of a class at once, and has no such
    function: there nothing changes.
    """
    compiled: Callable[..., Any] | None = getattr(dataclasses, "_create_fn", None)
    if compiled is not None:
        dataclasses._create_fn = _late(compiled)  # type: ignore[attr-defined]


def _late(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that takes the same source as `compiled`, but compiles it when its result is first called."""

    def create(name: str, *source: Any, **names: Any) -> Callable[..., Any]:
        found: list[Callable[..., Any]] = []

        def method(self: Any, *values: Any, **named: Any) -> Any:
            if not found:
                found.append(compiled(name, *source, **names))
                found[0].__qualname__ = method.__qualname__
            for kind in type(self).__mro__:  # the class calls the compiled method from now on
                if vars(kind).get(name) is method:
                    setattr(kind, name, found[0])
            return found[0](self, *values, **named)

        method.__name__ = name
        return method

    return create


def end_process(code: int | str | None) -> None:
    """Ends the process with the code of a SystemExit, after its exit handlers, without freeing its objects one by one
    (0.3 s of a small `analyze`; mypy ends in the same way). Returns where the interpreter has to end the process: for a
    message as code, and for output that cannot be written any more.
    """
    if isinstance(code, str):
        sys.exit(code)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        os._exit(code or 2)  # the caller gets the code; the interpreter would print a traceback
    os._exit(code or 0)
