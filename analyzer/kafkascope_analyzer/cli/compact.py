"""`kafkascope compact`: joins the small files of a dataset. Never starts Spark."""

from kafkascope_analyzer.cli.clusters import open_dataset
from kafkascope_analyzer.cli.exits import NOTHING_WRITTEN, exit_codes
from kafkascope_analyzer.cli.options import DatasetUri, Temporary


def compact(dataset: DatasetUri, temporary: Temporary = None) -> None:
    """Join the small files of a dataset's tables, as appends and Spark's tasks leave them. Its rows stay as they are.

    Readers that have the dataset open meanwhile have to open it again.
    """
    with exit_codes(clause=NOTHING_WRITTEN) as written:
        from kafkascope_analyzer.dataset.compact import compact, files_to_join
        from kafkascope_analyzer.dataset.new_dataset import NewDataset

        found = open_dataset(dataset)
        groups = files_to_join(found.manifest.files)
        if not groups:
            print(f"{dataset}: there are no small files to join")
            return
        with NewDataset(found.storage, temporary) as new:
            found = new.former or found
            groups = files_to_join(found.manifest.files)
            new.commit(compact(found, new, groups), keeps_report=True)
        written.clause = f"{dataset} is compact"
        n_files = sum(len(group.files) for group in groups)
        print(f"{dataset}: joined {n_files:,} files to {len(groups):,}")
