"""`kafkascope pack-executors`: packs what the executors of a Spark cluster need into one archive. Never
starts Spark."""

from pathlib import Path
from typing import Annotated

import typer

from kafkascope_analyzer.cli.exits import NOTHING_WRITTEN, exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import Quiet


def pack_executors(
    out: Annotated[Path, typer.Argument(metavar="OUT.tar.gz", help="The archive to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there already.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write the archive that Spark's executors need: kafkascope, the packages it needs, and its compiled kernels.

    Give it to Spark with --archives OUT.tar.gz#env and PYSPARK_PYTHON=./env/bin/python (docs/packaging.md). It holds
    this installation's packages: pack on a machine with the operating system, the architecture and the version of
    Python that the executors have. In a clone its kernels are compiled first.
    """
    messages = Messages(quiet=quiet)
    with exit_codes(messages, NOTHING_WRITTEN) as written:
        from kafkascope_analyzer.cli.compilation_notes import compilation_notes
        from kafkascope_analyzer.cli.executor_archive import write_executor_archive
        from kafkascope_parsers.errors import UsageError

        if not out.name.endswith((".tar.gz", ".tgz")):
            raise UsageError(f"{out}: Spark unpacks archives by their names: name it OUT.tar.gz")
        if out.is_dir() or (out.exists() and not overwrite):
            raise UsageError(f"{out}: is there already; --overwrite replaces a file")
        with compilation_notes(messages):
            content = write_executor_archive(out)
        written.clause = f"{out} is whole"
        messages.note(f"{out}: {content.n_files:,} files, {content.n_bytes / 1e6:.0f} MB")
