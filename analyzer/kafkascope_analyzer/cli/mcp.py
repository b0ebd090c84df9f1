"""`kafkascope mcp`: a dataset as tools for assistants, over standard input and output. Starts no Spark."""

from dataclasses import dataclass

from kafkascope_analyzer.cli.clusters import one_cluster
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.options import DatasetUri
from kafkascope_analyzer.cli.restrictions import Restriction, open_restricted


@dataclass(frozen=True, kw_only=True)
class McpArguments(Restriction):
    """The arguments of `kafkascope mcp`."""

    dataset: DatasetUri


def mcp(given: McpArguments) -> None:
    """Serve a dataset to an assistant, over the Model Context Protocol on standard input and output (extra mcp).

    Its tools only read this dataset: verdict, incidents, findings, explain, timeline, questions, SQL, packets.
    --client, --group, --topic, --node, --from and --to restrict all of them as they do a report.
    """
    with exit_codes():
        from kafkascope_analyzer.dataset.installed import installed

        installed("mcp", "mcp")
        from kafkascope_analyzer.assistant.answers import Answers
        from kafkascope_analyzer.assistant.server import server_of
        from kafkascope_analyzer.dataset.temporary_folders import temporary_folder

        opened = one_cluster(open_restricted(given.dataset, given))
        with temporary_folder("mcp") as scratch, Answers(opened, given.dataset, scratch) as answers:
            server_of(answers).run("stdio")
