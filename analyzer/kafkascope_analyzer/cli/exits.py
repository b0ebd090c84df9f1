"""Ends a command: its exit code, and one sentence on standard error about an error that the user can fix.

0 done, 1 something found with --fail-on (or a defect of the program: a traceback), 2 usage (or a limit of the machine:
memory, file handles, threads, an output that cannot be written), 3 unreadable input (a capture, or a damaged file of a
dataset), 4 Spark failed, or a part of the analysis while the rest stands, 5 no Kafka in the capture, 130 interrupted,
141 the reader of the output closed it.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

import typer

from kafkascope_analyzer.cli.compilation_notes import compilation_notes
from kafkascope_analyzer.cli.machine_limits import address_space_problem, limit_reached, output_problem
from kafkascope_analyzer.cli.messages import PLAIN, Messages
from kafkascope_parsers.errors import CaptureError, DamagedDatasetError, SparkError, UsageError

FOUND = 1
USAGE = 2
UNREADABLE = 3
SPARK_FAILED = PART_FAILED = 4
NO_KAFKA = 5
INTERRUPTED = 130
BROKEN_PIPE = 141
AGAIN_S = 0.05
"""Time after which the process interrupts itself again when Python ignored an interruption."""
NOTHING_WRITTEN = "nothing was written"


class CommandEnd(Exception):  # noqa: N818 - it is not always an error
    """Ends the command with that exit code and a sentence that gives the reason."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(slots=True)
class Written:
    """Describes what the command has written so far, as a clause that an interruption adds to its sentence. Empty for a
    command that only writes its results to standard output."""

    clause: str = ""

    def interrupted(self) -> str:
        """Returns the sentence of an interruption."""
        return f"interrupted: {self.clause}" if self.clause else "interrupted"


@contextmanager
def exit_codes(messages: Messages = PLAIN, clause: str = "") -> Iterator[Written]:
    """Turns our errors, Ctrl-C, SIGTERM and a closed pipe into exit codes; a defect of the program keeps its traceback.

    clause: the initial one of `Written`, which the block gets and updates.
    """
    written = Written(clause)
    stopped = _Stopped()
    stopped.install()
    try:
        if (problem := address_space_problem()) is not None:
            raise CommandEnd(problem, USAGE)
        with compilation_notes(messages):
            yield written
        sys.stdout.flush()
    except (UsageError, CaptureError, SparkError, CommandEnd) as error:
        raise _end(messages, str(error), _code_of(error)) from error
    except KeyboardInterrupt as interruption:
        raise _end(messages, written.interrupted(), INTERRUPTED) from interruption
    except BrokenPipeError as closed:
        _discard_output()
        raise typer.Exit(BROKEN_PIPE) from closed
    except Exception as error:
        if (problem := output_problem(error)) is not None:
            _discard_output()
            raise _end(messages, problem + (f" ({written.clause})" if written.clause else ""), USAGE) from error
        if (reached := limit_reached(error)) is not None:
            raise _end(messages, reached, USAGE) from error
        if not stopped.is_set:
            raise
        # A library such as numba failed because it was interrupted.
        raise _end(messages, written.interrupted(), INTERRUPTED) from error
    finally:
        stopped.remove()


def _end(messages: Messages, sentence: str, code: int) -> typer.Exit:
    """Prints why the command ends; returns the exception that ends it with that code."""
    messages.error(sentence, code)
    return typer.Exit(code)


def _code_of(error: UsageError | CaptureError | SparkError | CommandEnd) -> int:
    if isinstance(error, CommandEnd):
        return error.code
    if isinstance(error, SparkError):
        return SPARK_FAILED
    return UNREADABLE if isinstance(error, CaptureError | DamagedDatasetError) else USAGE


_cancellations: list[Callable[[], None]] = []
"""Functions that an interruption calls, each to cancel a job that the process waits for."""


@contextmanager
def cancelled_when_interrupted(cancel: Callable[[], None]) -> Iterator[None]:
    """Lets an interruption of the block cancel the job that the block waits for. PySpark waits for the end of a job
    before it passes on an exception, and its own handler is only installed where the main thread opened the session."""
    _cancellations.append(cancel)
    try:
        yield
    finally:
        _cancellations.remove(cancel)


def _discard_output() -> None:
    """Discards the rest of the output buffer, which nobody reads; otherwise the interpreter reports that
    when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Stopped:
    """The handler of SIGINT and SIGTERM: it raises KeyboardInterrupt, and remembers that it did. It also calls the
    previous handler: that of an open Spark session cancels the session's jobs.

    Python ignores an exception that is raised while an object is destroyed (`__del__`). Where that happens to the
    KeyboardInterrupt, the process sends itself the signal again.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._before: dict[int, Any] = {}
        self._report_ignored = sys.unraisablehook
        self._again: threading.Timer | None = None

    def install(self) -> None:
        """Installs the handler for both signals."""
        self._before = {number: signal.signal(number, self) for number in (signal.SIGTERM, signal.SIGINT)}
        sys.unraisablehook = self._handle_ignored

    def remove(self) -> None:
        """Restores the previous handlers of both signals."""
        if self._again is not None:
            self._again.cancel()
        sys.unraisablehook = self._report_ignored
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        self.is_set = True
        with suppress(Exception):  # the job to be cancelled may be gone
            for cancel in _cancellations:
                cancel()
        before = self._before[signum]
        if callable(before):
            before(signum, frame)
        raise KeyboardInterrupt

    def _handle_ignored(self, ignored: "sys.UnraisableHookArgs") -> None:
        if ignored.exc_type is not KeyboardInterrupt:
            self._report_ignored(ignored)
            return
        self._again = threading.Timer(AGAIN_S, os.kill, (os.getpid(), signal.SIGINT))
        self._again.daemon = True
        self._again.start()
