"""How a command ends: its exit code, and one sentence on standard error about an error that the user can fix.

0 done, 1 findings with --fail-on (or a defect of the program: a traceback), 2 usage, 3 unreadable input, 4 Spark
failed, 130 interrupted, 141 the reader of the output closed it.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from kafkascope_parsers.errors import CaptureError, SparkError, UsageError

FOUND = 1
USAGE = 2
UNREADABLE = 3
SPARK_FAILED = 4
INTERRUPTED = 130
BROKEN_PIPE = 141


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turns our errors, Ctrl-C, SIGTERM and a closed pipe into exit codes; a defect of ours keeps its traceback."""
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
        sys.stdout.flush()
    except UsageError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from error
    except CaptureError as error:
        complain(str(error))
        raise typer.Exit(UNREADABLE) from error
    except SparkError as error:
        complain(str(error))
        raise typer.Exit(SPARK_FAILED) from error
    except KeyboardInterrupt as stopped:
        complain("interrupted: nothing was written")
        raise typer.Exit(INTERRUPTED) from stopped
    except BrokenPipeError as closed:
        # The rest of the buffer has no reader; without this the interpreter reports that when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from closed
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminated(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def complain(sentence: str) -> None:
    """Prints one sentence on standard error, without control characters: a file name may contain any."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in sentence)
    print(f"kafkascope: {shown}", file=sys.stderr)
