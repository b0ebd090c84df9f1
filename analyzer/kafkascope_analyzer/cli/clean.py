"""`kafkascope clean`: removes files of a dataset that unfinished runs have left. Never starts Spark."""

from typing import Annotated

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.messages import PLAIN
from kafkascope_analyzer.cli.options import DatasetUri, Temporary


def clean(
    dataset: DatasetUri,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be removed.")] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also remove the files of runs that may still be running; those runs then fail."),
    ] = False,
    temporary: Temporary = None,
) -> None:
    """Remove files that killed runs have left at a dataset's place, and list them. No reader sees these files.

    In a dataset these are the files that its manifest does not list; without a dataset, the files of runs that have
    left their mark. No other files are touched, nor those of a run that is still running; in a store, a run of another
    machine counts as running for a day. Temporary folders of killed commands, and of their JVMs, are removed too.
    """
    with exit_codes() as written:
        from contextlib import nullcontext

        from kafkascope_analyzer.dataset.dataset import Dataset
        from kafkascope_analyzer.dataset.leftovers import Content, content_of, find_leftovers
        from kafkascope_analyzer.dataset.new_dataset import remove_leftovers, scratch_folders
        from kafkascope_analyzer.dataset.place_lock import exclusive
        from kafkascope_analyzer.dataset.storage import Storage
        from kafkascope_analyzer.dataset.story_files import new_run_id
        from kafkascope_analyzer.dataset.temporary_folders import ownerless, remove_ownerless, temporary_root
        from kafkascope_parsers.errors import UsageError

        place = Storage.of(dataset)
        content = content_of(place)
        if content not in (Content.DATASET, Content.UNFINISHED):
            raise UsageError(f"{dataset}: is neither a kafkascope dataset nor what a run has left of one")
        with nullcontext() if dry_run else exclusive(place, new_run_id()):
            manifest = Dataset.open(dataset).manifest if content is Content.DATASET else None
            left = find_leftovers(place, manifest, all_runs=force)
            folders = sorted({*scratch_folders(left.run_ids, temporary), *ownerless(temporary_root(temporary))})
            if not dry_run:
                written.clause = f"some files may have been removed; `kafkascope clean {dataset}` goes on"
                remove_leftovers(place, manifest, temporary, all_runs=force)
                remove_ownerless(temporary_root(temporary))
        for name in (*map(place.uri_of, left.files), *map(str, folders)):
            print(f"{'would remove' if dry_run else 'removed'} {name}")
        if left.at_work:
            PLAIN.note(f"{dataset}: {len(left.at_work)} runs may still be at work there: their files were left")
        if not left.files and not folders:
            print(f"{dataset}: there is nothing to remove")
