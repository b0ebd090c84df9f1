"""`kafkascope explain`: explains anything that has an id, in sentences with packet numbers. Starts no Spark."""

import json
import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from kafkascope_analyzer.cli.clusters import one_cluster
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import DatasetUri, Format, FormatOption
from kafkascope_analyzer.cli.restrictions import Restriction, open_restricted


@dataclass(frozen=True, kw_only=True)
class ExplainArguments(Restriction):
    """The arguments of `kafkascope explain`."""

    dataset: DatasetUri
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID|NAME",
            help="Id of an incident, stall, finding, recovery, start, rebalance, client or transaction (a "
            "transactional id, or transactional id:number), or an unambiguous beginning of it. Or a name: a client id, "
            "group, topic, broker (3, node 3 or ip:port) or rule; group:NAME and the like where several share it.",
        ),
    ]
    format: FormatOption = Format.rich


def explain(given: ExplainArguments) -> None:
    """Explain anything that a report names, in full sentences, with the packets that prove it.

    --client, --group, --topic, --node, --from and --to restrict it as they do a report.
    """
    with exit_codes(Messages.of(given.format)):
        from kafkascope_analyzer.report.commands import at_place
        from kafkascope_analyzer.report.explain.explanation import explain as explain_id
        from kafkascope_analyzer.report.explain.identities import has_id
        from kafkascope_analyzer.report.plain import plain
        from kafkascope_spark.stories.findings.registry import RULES

        titles = {rule.name: rule.title for rule in RULES}
        opened = open_restricted(given.dataset, given)
        # An id belongs to one cluster; a name may occur in several clusters.
        asked = opened if has_id(opened, given.name) else one_cluster(opened)
        found = at_place(explain_id(asked, given.name, titles), given.dataset)
        if given.format is Format.json:
            whole = plain(found)
            sys.stdout.write(json.dumps({**whole.pop("rows"), **whole}, indent=2, ensure_ascii=True) + "\n")
            return
        from kafkascope_analyzer.report.formatting import visible
        from kafkascope_analyzer.report.terminal.layout import line
        from kafkascope_analyzer.report.terminal.page import write_parts

        parts = [line(sentence) for sentence in found.sentences]
        commands = [command for command in (found.cut, found.wireshark) if command]
        parts += [line("For Wireshark:")] if commands else []
        write_parts(parts, sys.stdout, plain=given.format is Format.plain)
        for command in commands:
            sys.stdout.write(f"  {visible(command)}\n")
