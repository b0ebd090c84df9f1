"""Saved SQL: questions for `kafkascope sql --run NAME`, and views and macros that every query can use.

Each is a file, `questions/NAME.sql`, `views/NAME.sql` or `macros/NAME.sql`; its first line is a comment that describes
it. The comment of a macro begins with its parameters, as in `-- what_if_linger(linger_ms): ...`.
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
    """A SELECT that comes with the program. text: content of the file, including its description as a comment."""

    name: str
    description: str
    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the SELECT without its comments: names of tables and columns that it reads, and SQL keywords."""
        return frozenset(re.findall(r"\w+", re.sub(r"--.*", "", self.text)))

    def names(self, table: str) -> bool:
        """Whether the SELECT names the table."""
        return table in self.words

    @cached_property
    def messages(self) -> tuple[str, ...]:
        """The messages that the SELECT reads, as in `Fetch_request`."""
        return tuple(sorted(set(re.findall(r"\bmessages\.(\w+)", self.text))))

    @property
    def definition(self) -> str:
        """The statement that creates a view or a macro from it."""
        called = re.match(rf"-- ({self.name}\(.*?\)):", self.text)
        return f"macro {called[1]} as table {self.text}" if called else f"view {self.name} as {self.text}"


@cache
def questions() -> tuple[SavedSql, ...]:
    """Returns the saved questions by name."""
    return _read("questions")


@cache
def views() -> tuple[SavedSql, ...]:
    """Returns the views in the order in which they can be created: one may read those before it."""
    found = {view.name: view for view in _read("views")}
    ordered: dict[str, SavedSql] = {}
    while len(ordered) < len(found):
        ordered |= {
            name: view
            for name, view in found.items()
            if name not in ordered and not any(view.names(other) for other in found.keys() - ordered.keys() - {name})
        }
    return tuple(ordered.values())


@cache
def macros() -> tuple[SavedSql, ...]:
    """Returns the macros, which are views with parameters, by name."""
    return _read("macros")


def below(name: str) -> list[SavedSql]:
    """Returns the views that the view or macro of that name reads, then the view or macro itself."""
    found: set[str] = {name}
    for saved in reversed((*views(), *macros())):
        if saved.name in found:
            found |= {view.name for view in views() if saved.names(view.name)}
    return [saved for saved in (*views(), *macros()) if saved.name in found]


def reads_messages(saved: SavedSql) -> bool:
    """Whether it reads messages, directly or through a view."""
    return any(each.messages for each in below(saved.name))


def saved_in(statement: str) -> list[SavedSql]:
    """Returns the views and macros that a statement may name, each after those that it reads."""
    text = statement.lower()
    named = {each.name for saved in (*views(), *macros()) if saved.name in text for each in below(saved.name)}
    return [saved for saved in (*views(), *macros()) if saved.name in named]


def question(name: str) -> SavedSql:
    """Returns the saved question of that name. Raises UsageError, which names a similar one."""
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
