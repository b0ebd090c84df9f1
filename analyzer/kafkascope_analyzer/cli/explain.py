"""`kafkascope explain`: whatever has an id, in sentences with packet numbers. Starts no Spark."""

import json
import sys
from typing import Annotated

import typer

from kafkascope_analyzer.cli.clusters import Cluster, one_cluster
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import DatasetUri, Format, FormatOption, From, To
from kafkascope_analyzer.cli.restrictions import ClientNames, Groups, Nodes, Topics, open_restricted
from kafkascope_analyzer.dataset.restriction import Asked


def explain(
    dataset: DatasetUri,
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID|NAME",
            help="Id of an incident, stall, finding, recovery, start, rebalance, client or transaction (a "
            "transactional id, or transactional id:number), or an unambiguous beginning of it. Or a name: a client id, "
            "group, topic, broker (3, node 3 or ip:port) or rule; group:NAME and the like where several share it.",
        ),
    ],
    cluster: Cluster = None,
    client: ClientNames = None,
    group: Groups = None,
    topic: Topics = None,
    node: Nodes = None,
    start: From = None,
    end: To = None,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Explain anything that a report names, in full sentences, with the packets that prove it.

    --client, --group, --topic, --node, --from and --to restrict it as they do a report.
    """
    with exit_codes(Messages.of(format)):
        from kafkascope_analyzer.report.commands import at_place
        from kafkascope_analyzer.report.explain.explanation import explain as explain_id
        from kafkascope_analyzer.report.explain.identities import has_id
        from kafkascope_analyzer.report.plain import plain
        from kafkascope_spark.stories.findings.registry import RULES

        titles = {rule.name: rule.title for rule in RULES}
        opened = open_restricted(dataset, cluster, Asked(client, node, group, topic, start, end))
        # Ids are of one cluster; a name may be one of several clusters.
        asked = opened if has_id(opened, name) else one_cluster(opened)
        found = at_place(explain_id(asked, name, titles), dataset)
        if format is Format.json:
            whole = plain(found)
            sys.stdout.write(json.dumps({**whole.pop("rows"), **whole}, indent=2, ensure_ascii=True) + "\n")
            return
        from kafkascope_analyzer.report.formatting import visible
        from kafkascope_analyzer.report.terminal.layout import line
        from kafkascope_analyzer.report.terminal.page import write_parts

        parts = [line(sentence) for sentence in found.sentences]
        commands = [command for command in (found.cut, found.wireshark) if command]
        parts += [line("For Wireshark:")] if commands else []
        write_parts(parts, sys.stdout, plain=format is Format.plain)
        for command in commands:
            sys.stdout.write(f"  {visible(command)}\n")
