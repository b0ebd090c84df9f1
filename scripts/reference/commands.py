"""docs/commands.md: the commands and their options, from the command line."""

import click
import typer

from kafkascope_analyzer.cli.app import app
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

With `--format json` (of `sql` also `jsonl`) each line on standard error is JSON too: `{"warning": "..."}`,
`{"note": "..."}`, and where the command fails one `{"error": "...", "exit_code": 2}`.
"""


def commands_page() -> str:
    """Every command with its options."""
    parts = [COMMANDS_HEAD]
    for name, command in typer.main.get_command(app).commands.items():
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
