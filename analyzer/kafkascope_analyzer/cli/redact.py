"""`kafkascope redact`: writes a dataset that can be shown to strangers; `kafkascope resolve`: finds the originals of
its pseudonyms."""

from pathlib import Path
from typing import Annotated

import typer

from kafkascope_analyzer.cli.clusters import open_dataset
from kafkascope_analyzer.cli.exits import NOTHING_WRITTEN, exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import DatasetUri, Format, Overwrite, Quiet, Temporary
from kafkascope_parsers.errors import UsageError

RedactedOut = Annotated[str, typer.Option("-o", "--out", metavar="PATH", help="The redacted dataset.")]
RedactionKey = Annotated[
    Path,
    typer.Option("--key", metavar="FILE", help="The key file; a new one is made where there is none. Keep it secret."),
]


def redact(
    dataset: DatasetUri,
    out: RedactedOut,
    key: RedactionKey,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    temporary: Temporary = None,
) -> None:
    """Write a dataset with pseudonyms in place of all names: addresses, hosts, topics, groups, clients, users.

    Records, tokens and error messages are dropped. Stories are made again on Spark, and reports of the new dataset
    contain no names. The key file resolves pseudonyms (kafkascope resolve); the same key gives the same pseudonyms
    again.
    """
    messages = Messages.of(Format.rich, quiet=quiet)
    with exit_codes(messages, NOTHING_WRITTEN) as written:
        from kafkascope_analyzer.cli.dataset_place import checked_out
        from kafkascope_analyzer.cli.stories import make_stories, spark_problem, story_choice
        from kafkascope_analyzer.dataset.new_dataset import NewDataset
        from kafkascope_analyzer.redact.key_file import open_key_file
        from kafkascope_analyzer.redact.redaction import pseudonyms_for
        from kafkascope_analyzer.redact.redaction import redact as redacted
        from kafkascope_analyzer.report.model.clusters import report_of, write_report
        from kafkascope_analyzer.sql.views_file import write_views

        source = open_dataset(dataset)
        has_stories = source.manifest.stall_ms is not None
        problem = spark_problem() if has_stories else None
        if problem:
            raise UsageError(problem)
        place = checked_out(out, overwrite=overwrite)
        key_file = open_key_file(key)
        pseudonyms = pseudonyms_for(source, key_file.key)
        with NewDataset(place, temporary, replaces=overwrite) as new:
            made = redacted(source, new, pseudonyms)
            key_file.add(pseudonyms.originals)
            new.commit(made)
        if has_stories:
            choice = story_choice(None, f"{source.manifest.stall_ms}ms")
            with NewDataset(place, temporary) as new:
                new.commit(make_stories(open_dataset(out), (None, None), choice, quiet=quiet))
            with_stories = open_dataset(out)
            write_report(with_stories, report_of(with_stories))
            write_views(with_stories)
        written.clause = f"{out} is redacted"
        messages.note(f"dataset: {out}; {key} resolves its pseudonyms: do not give it away")


def resolve(
    key: Annotated[Path, typer.Argument(metavar="KEYFILE", help="The key file of kafkascope redact.")],
    names: Annotated[
        list[str], typer.Argument(metavar="PSEUDONYM...", help="Pseudonyms that a redacted dataset shows.")
    ],
) -> None:
    """Print the originals of pseudonyms of a redacted dataset."""
    with exit_codes():
        from kafkascope_analyzer.redact.key_file import read_key_file

        originals = read_key_file(key).originals
        unknown = [name for name in names if name not in originals]
        for name in names:
            if name in originals:
                print(f"{name}\t{originals[name]}")
        if unknown:
            raise UsageError(f"{key}: does not have {', '.join(unknown)}")
