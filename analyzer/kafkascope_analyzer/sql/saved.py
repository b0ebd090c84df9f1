"""Saved SQL: questions that `kafkascope sql --run NAME` asks, and views that every query can use.

Each is a file, `questions/NAME.sql` or `views/NAME.sql`; its first line is a comment that describes it.
"""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_parsers.errors import UsageError

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class SavedSql:
    """A SELECT that comes with the program. text: as in the file, its description as a comment included."""

    name: str
    description: str
    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the SELECT: the names of the tables and columns that it reads, and SQL's own."""
        return frozenset(re.findall(r"\w+", self.text.partition("\n")[2]))

    def names(self, table: str) -> bool:
        """Whether the SELECT names the table."""
        return table in self.words


@cache
def questions() -> tuple[SavedSql, ...]:
    """The saved questions by name."""
    return _read("questions")


@cache
def views() -> tuple[SavedSql, ...]:
    """The views in the order in which they can be created: one may read those before it."""
    return _read("views")


def question(name: str) -> SavedSql:
    """The saved question of that name. Raises UsageError, which names one that is alike."""
    known = {saved.name: saved for saved in questions()}
    if name in known:
        return known[name]
    raise UsageError(f"no saved question is called {name}{did_you_mean(name, known)}; kafkascope sql --list lists them")


def _read(kind: str) -> tuple[SavedSql, ...]:
    made = []
    for path in sorted((_FOLDER / kind).glob("*.sql")):
        text = path.read_text(encoding="utf-8")
        made.append(SavedSql(path.stem, text.partition("\n")[0].removeprefix("--").strip(), text))
    return tuple(made)
