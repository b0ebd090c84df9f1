"""docs/commands.md: the commands and their options, from the command line."""

import click
import typer

from kafkascope_analyzer.cli.app import COMMANDS, app
from kafkascope_analyzer.sql.saved import questions

COMMANDS_HEAD = """# Commands

`kafkascope COMMAND --help` says the same. Results go to standard output; progress, notes and errors to standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an incident, a stall, a failed start or a finding is of the severity that `--fail-on` names, or worse; \
everything was written |
| 2 | usage: the call cannot be carried out as asked, the machine does not allow it (memory, file handles, threads), \
or another run was first; nothing was changed. Or standard output cannot be written (closed, full); the sentence \
says what was written before |
| 3 | unreadable input: one sentence names the file (a capture with the byte and why, or a damaged file of a dataset); \
nothing was written |
| 4 | Spark failed: one sentence says why (memory, disk, a lost process) and what to do; the tables are complete. \
Or a part of the analysis failed because of a defect: a rule, an incident, what was found out about a client, \
a section of the report; one sentence names it, `failed_parts` of report.json says where, and the rest stands |
| 5 | no Kafka in the capture: no packets, or no connection that speaks it; one sentence says which; what was read \
is written |
| 130 | interrupted; where the command writes files, its sentence says what was written |
| 141 | the program that read standard output closed it |

A cause has the same code in every command:

{causes}
With `--format json` (of `sql` also `jsonl`) each line on standard error is JSON too: `{"warning": "..."}`,
`{"note": "..."}`, and where the command fails one `{"error": "...", "exit_code": 2}`.
"""


CAUSES = (
    (
        "no such dataset, or the folder or file is none",
        2,
        ("report X", "stories X", "explain X id", "diff X X", "topology X", "compact X", "clean X", "sql X select"),
    ),
    ("no such capture", 3, ("analyze X", "ingest X", "info X", "timeline X", "cut X -o piece.pcapng --from +1s")),
    ("a file that is no capture", 3, ("analyze F", "ingest F", "info F", "timeline F", "cut F -o p.pcapng --from +1s")),
    ("a folder without captures", 2, ("analyze D", "ingest D", "info D", "timeline D")),
    (
        "an id or name that the dataset does not have",
        2,
        (
            "explain S id",
            "timeline S --client x",
            "timeline S --group x",
            "timeline S --node 99",
            "timeline S --recovery x",
            "cut S -o p.pcapng --finding x",
        ),
    ),
    ("no such rule, table, API or saved question", 2, ("rules x", "tables x", "protocol x", "sql S --run x")),
    ("a query that fails", 2, ("sql S selec",)),
    ("no Kafka in it", 5, ("analyze N", "ingest N", "stories N", "report N", "info N", "timeline N", "topology N")),
)
"""Cause, exit code, and the commands that meet it. X: nothing of that name; F: a file; D: a folder; S: a dataset with
stories; N: a dataset without Kafka, or for `analyze` and `ingest` such a capture."""


def causes_table() -> str:
    """The causes with their exit codes."""
    rows = "".join(
        f"| {cause} | {code} | {', '.join(dict.fromkeys(f'`{line.split()[0]}`' for line in lines))} |\n"
        for cause, code, lines in CAUSES
    )
    return f"| cause | exit code | commands |\n|---|---|---|\n{rows}"


def commands_page() -> str:
    """Every command with its options."""
    parts = [COMMANDS_HEAD.replace("{causes}", causes_table())]
    group = typer.main.get_command(app)
    for name in COMMANDS:
        command = group.get_command(None, name)
        parts += [
            f"## kafkascope {name}\n\n{command.help}\n",
            "| | what |\n|---|---|\n" + "".join(map(option, command.params)),
        ]
        if name == "sql":
            parts.append(questions_table())
    return "\n".join(parts)


def option(param: click.Parameter) -> str:
    """The row of an option or argument."""
    is_argument = param.param_type_name == "argument"
    names = param.metavar if is_argument else ", ".join(param.opts)
    takes = f" {param.metavar}" if not is_argument and param.metavar else ""
    return f"| `{names}{takes}` | {param.help} |\n".replace("CAPTURE|OUT", "CAPTURE or OUT")


def questions_table() -> str:
    """The questions that `kafkascope sql --run` asks."""
    rows = "".join(f"| `{saved.name}` | {saved.description} |\n" for saved in questions())
    return f"| saved question | what it answers |\n|---|---|\n{rows}"
