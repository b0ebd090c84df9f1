"""`kafkascope mcp`: a dataset as tools for assistants, over standard input and output. Starts no Spark."""

from kafkascope_analyzer.cli.clusters import Cluster, one_cluster
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.options import DatasetUri, From, To
from kafkascope_analyzer.cli.restrictions import ClientNames, Groups, Nodes, Topics, open_restricted
from kafkascope_analyzer.dataset.restriction import Asked


def mcp(
    dataset: DatasetUri,
    cluster: Cluster = None,
    client: ClientNames = None,
    group: Groups = None,
    topic: Topics = None,
    node: Nodes = None,
    start: From = None,
    end: To = None,
) -> None:
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

        opened = one_cluster(open_restricted(dataset, cluster, Asked(client, node, group, topic, start, end)))
        with temporary_folder("mcp") as scratch, Answers(opened, dataset, scratch) as answers:
            server_of(answers).run("stdio")
