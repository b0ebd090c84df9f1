"""Escapes text from the wire for Markdown and Mermaid, so that it cannot become markup, HTML, a link, a mention or a
table cell.

A name goes into a code span, in which GitHub, GitLab and chats interpret nothing. In a sentence, words that are not
plain prose do so too. In tables a vertical bar is shown as an escape: how `\\\\|` is read differs between renderers.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from kafkascope_analyzer.report.formatting import count, safe, visible

_PROSE = re.compile(r"[A-Za-z0-9,.;:'%()/µ→…·-]+")
"""A word of only these characters is never markup, except at the beginning of a line."""
_LINKS = re.compile(r"://|^\(?www\.|^\(?gh-\d|^[-+]+$|^\d+[.)]$|--", re.IGNORECASE)
"""Words that look like prose, but that renderers turn into links, list items, rules or headings."""
_MERMAID_PLAIN = re.compile(r"[A-Za-z0-9 _.,/()+→…µ-]")
_PUNCTUATED = re.compile(r"(\(?)(.+?)([,;:.)]*)", re.DOTALL)
"""A word, and the sentence's punctuation around it."""
_BAR = r"\x7c"
"""Replacement for a vertical bar, which would end a table's cell."""
_MERMAID_KEYWORD = re.compile(r"\bend\b", re.IGNORECASE)
LONGEST_LABEL = 60
"""Longest label of a diagram, in characters."""


def code(text: object) -> str:
    """Returns a name as a code span, also for a table's cell; a dash for None."""
    shown = safe(text).replace("|", _BAR) if text is not None else ""
    return _span(shown) if shown.strip() else "-" if not shown else _span(f"'{shown}'")


def _span(shown: str) -> str:
    """Returns a code span whose fence is longer than any run of backticks in it."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") or shown != shown.strip(" ") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def prose(text: str) -> str:
    """Returns a sentence with the words that are not plain prose as code spans."""
    return " ".join(_word(word) for word in visible(text).split())


def _word(word: str) -> str:
    if _PROSE.fullmatch(word) and not _LINKS.search(word):
        return word
    before, name, after = _PUNCTUATED.fullmatch(word).groups()  # type: ignore[union-attr]  # it matches any word
    return f"{before}{_span(name.replace('|', _BAR))}{after}"


def label(text: object) -> str:
    """Returns text for a Mermaid diagram: everything but plain letters, digits and a few signs as a character code."""
    shown = visible(str(text)[: LONGEST_LABEL + 1])
    shown = shown if len(shown) <= LONGEST_LABEL else shown[: LONGEST_LABEL - 1] + "…"
    plain = "".join(c if _MERMAID_PLAIN.fullmatch(c) else f"#{ord(c)};" for c in shown)
    return _MERMAID_KEYWORD.sub(lambda match: f"#{ord(match[0][0])};{match[0][1:]}", plain)


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yields the lines of a table. A column is (title, alignment): `r` for right-aligned, or empty."""
    yield f"| {' | '.join(title for title, _ in columns)} |"
    yield f"|{''.join('--:|' if options else '---|' for _, options in columns)}"
    for cells in rows:
        yield f"| {' | '.join(cells)} |"


def more(n_left: int, one: str, many: str | None = None) -> Iterator[str]:
    """Yields the line that says how many are not shown and how to see them; nothing where all are shown. one, many:
    their noun."""
    if n_left > 0:
        yield from ("", f"… and {count(n_left, one, many)} more: `kafkascope report OUT.kscope --all`.")
