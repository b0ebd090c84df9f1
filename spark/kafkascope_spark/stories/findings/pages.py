"""Pages of the rules, made from the texts of each rule."""

from collections.abc import Iterator, Sequence

from kafkascope_spark.stories.findings.rule import Rule

ADDING = """## Adding a rule

A rule is a module of `spark/kafkascope_spark/stories/findings/rules` that ends with a `RULE`: its texts, of which its
page is made, and one or several detectors. There is no other list of rules. A detector has

- `reads`: the rows without which there is nothing to find, `Where(ERRORS, error_name=(...), topic=NOT_NULL)`, or groups
  of them (`read.py`, `conditions.py`). The table, the columns and the values are checked when the module is imported.
  The detector runs only where the dataset has such rows, which is known before Spark runs a query; the query may select
  from them by name. How often a connection sent requests of a kind, and how much they carried, is in the events of kind
  `usage`, of which there are far fewer than requests.
- `candidates`: what these rows must have in common, as a Python function of their columns, where that saves Spark a
  query that finds nothing.
- `query`: Spark SQL that gives one row of facts a finding: numbers, names, times, and evidence in order of time. All
  detectors run in one job (`statement.py`), and may select from the queries in `shared_queries.py`.
- `subject`, `sentence` and `advice`: Python functions of the facts, which Spark's workers call for the rows that remain
  (`finding_rows.py`). `wording.py` has the formatters of times, durations, numbers and names.

`follows` of the rule names the kinds of incidents that its findings may be consequences of. Which incident a finding is
a consequence of is decided when it is written (`causes.py`), by time, and by the clients, groups and brokers that the
incident and the finding have in common: the query gives them in the columns `client_instance_id`, `group_id` and
`node_ids`, and in `since_ns` when it began.

Numbers that a rule compares with stand in `thresholds.py`, each with its source. Add a case that the rule must find,
and the nearest one that it must not, to `tests/spark/stories/findings`.
"""


def page_parts(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yields the headings of a rule's page with their texts."""
    yield "What it means", rule.meaning
    yield "What it looks at", rule.looks_at
    yield "What to do", rule.advice
    if rule.follows:
        kinds = ", ".join(sorted(rule.follows.kinds))
        yield "What it may follow from", f"Incidents of these kinds, under which reports list it: {kinds}."
    if rule.unless:
        yield "Gives way to", f"{', '.join(rule.unless)}: of a client that one of these speaks of, it says nothing."
    yield "Sources", ", ".join(rule.sources)


def rule_page(rule: Rule) -> str:
    """Returns the page as Markdown."""
    parts = [f"# {rule.name}", f"{rule.title}. Severity: {rule.severity}."]
    for title, text in page_parts(rule):
        parts += [f"## {title}", text]
    ignore = f"`--ignore {rule.name}` leaves it out of the report and of `--fail-on`."
    return "\n\n".join([*parts, ignore]) + "\n"


def index_page(rules: Sequence[Rule]) -> str:
    """Returns the list of all rules as Markdown."""
    head = """# Rules

A finding is what a rule says of a capture: a sentence with subject, number and time, its severity, the requests or
connections that prove it, and what to change. They are the rows of the table `stories/findings`; `kafkascope cut
OUT.kscope --finding ID` cuts the packets that prove one out of the capture. `kafkascope rules` prints this list.

- error: broken. warning: will break, or costs. info: worth knowing. The table names the strongest that a rule gives.
- A rule that cannot see what it needs says nothing. A healthy capture has no finding above info.
- `--fail-on warning` ends a command with exit code 1 where a finding is a warning or worse; `--ignore RULE` leaves one
  out.
"""
    lines = ["| rule | severity | what it finds |", "|---|---|---|"]
    lines += [f"| [{rule.name}]({rule.name}.md) | {rule.severity} | {rule.title} |" for rule in rules]
    return head + "\n" + "\n".join(lines) + "\n\n" + ADDING
