"""The kinds of incidents: each is the object at the end of the module of its name, in capital letters."""

from collections.abc import Callable
from importlib import import_module

from kafkascope_spark.stories.incidents.failure import Kind
from kafkascope_spark.stories.incidents.kind_names import INCIDENT_KINDS


def _kind(name: str) -> Kind:
    kind: Kind = getattr(import_module(f"{__name__}.{name}"), name.upper())
    return kind


KINDS: tuple[Kind, ...] = tuple(map(_kind, INCIDENT_KINDS))
KIND_OF_ERROR = {error: kind for kind in KINDS for error in kind.errors}
"""The kind of the incident that an error makes by itself, where it follows from no other failure."""
KIND_OF_STATE = {state: kind for kind in KINDS for state in kind.states}
"""The kind of the incident of a broker that was in such a state for everybody."""


def names_of(is_meant: Callable[[Kind], bool]) -> frozenset[str]:
    """The names of some kinds."""
    return frozenset(kind.name for kind in KINDS if is_meant(kind))


def words_of(name: str, n: int = 1) -> str:
    """What reports call n incidents of a kind."""
    kind = _BY_NAME.get(name)
    if kind is None:
        return "unexplained"
    return kind.plural if n != 1 and kind.plural else kind.words


_BY_NAME = {kind.name: kind for kind in KINDS}
