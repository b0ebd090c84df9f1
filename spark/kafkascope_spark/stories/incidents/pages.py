"""Reference pages of the kinds of incidents, made from the docstring of each kind's module and from its `Kind`."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from inspect import cleandoc

from kafkascope_spark.stories.incidents import kinds
from kafkascope_spark.stories.incidents.failures.failure import Kind

_HEAD = """# Incidents

An incident is something that failed, with whatever followed from it: a row of the table `stories/incidents`. Its kind
is what failed. `kafkascope rules` lists the kinds, `kafkascope rules KIND` prints what is below.

What an incident is called is decided by contrast: who was served meanwhile, by whom. Where that leaves several places,
the report names the others too (`alternatives`), and says how sure the place is (`confidence`). What each kind advises:
[advice](advice.md).
"""


def kind_paragraphs(kind: Kind) -> list[str]:
    """Returns the paragraphs of the docstring of a kind's module, each without line breaks: what the kind is, what it
    is detected from, what it may be confused with, and what proves it."""
    text = cleandoc(import_module(f"{kinds.__name__}.{kind.name}").__doc__ or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def kind_parts(kind: Kind) -> Iterator[tuple[str, str]]:
    """Yields the other headings of a kind's page, with their texts."""
    yield "Shown by", kind.known
    if kind.errors:
        yield "Errors that show it where nothing else explains them", ", ".join(sorted(kind.errors))
    if kind.states:
        yield "States of a broker (stories/broker_states) that show it", ", ".join(sorted(kind.states))
    if kind.place is not None:
        yield "Place", kind.place


def kinds_page(known: Sequence[Kind]) -> str:
    """Returns the page of all kinds as Markdown."""
    parts = [_HEAD]
    for kind in known:
        parts += [f"## {kind.name}", f"*{kind.words}*", *map(_plain, kind_paragraphs(kind))]
        parts.append("\n".join(f"- {title}: {_plain(text)}" for title, text in kind_parts(kind)))
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Escapes a text for Markdown."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
