"""How a command ends: its exit code, and one sentence on standard error about an error that the user can fix.

0 done, 1 findings with --fail-on (or a defect of the program: a traceback), 2 usage, 3 unreadable input (a capture, or
a damaged file of a dataset), 4 Spark failed, 5 no Kafka in the capture, 130 interrupted, 141 the reader of the output
closed it.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from kafkascope_parsers.errors import CaptureError, DamagedDatasetError, SparkError, UsageError

FOUND = 1
USAGE = 2
UNREADABLE = 3
SPARK_FAILED = 4
NO_KAFKA = 5
INTERRUPTED = 130
BROKEN_PIPE = 141


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turns our errors, Ctrl-C, SIGTERM and a closed pipe into exit codes; a defect of ours keeps its traceback."""
    stopped = _Stopped()
    before = {number: signal.signal(number, stopped) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
        sys.stdout.flush()
    except DamagedDatasetError as error:
        complain(str(error))
        raise typer.Exit(UNREADABLE) from error
    except UsageError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from error
    except CaptureError as error:
        complain(str(error))
        raise typer.Exit(UNREADABLE) from error
    except SparkError as error:
        complain(str(error))
        raise typer.Exit(SPARK_FAILED) from error
    except KeyboardInterrupt as interruption:
        complain("interrupted: nothing was written")
        raise typer.Exit(INTERRUPTED) from interruption
    except BrokenPipeError as closed:
        # The rest of the buffer has no reader; without this the interpreter reports that when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from closed
    except Exception as error:
        if not stopped.is_set:
            raise
        complain("interrupted: nothing was written")  # a library, as numba, failed because it was interrupted
        raise typer.Exit(INTERRUPTED) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Stopped:
    """The handler of SIGINT and SIGTERM: it raises KeyboardInterrupt, and remembers that it did."""

    def __init__(self) -> None:
        self.is_set = False

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        self.is_set = True
        raise KeyboardInterrupt


def complain(sentence: str) -> None:
    """Prints one sentence on standard error, without control characters: a file name may contain any."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in sentence)
    print(f"kafkascope: {shown}", file=sys.stderr)
