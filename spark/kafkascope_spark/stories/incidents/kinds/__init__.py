"""The kinds of incidents. Each kind is defined at the end of the module of its name, as a constant."""

from collections.abc import Callable
from importlib import import_module

from kafkascope_spark.stories.incidents.failures.failure import Kind
from kafkascope_spark.stories.incidents.kind_names import INCIDENT_KINDS


def _kind(name: str) -> Kind:
    kind: Kind = getattr(import_module(f"{__name__}.{name}"), name.upper())
    return kind


KINDS: tuple[Kind, ...] = tuple(map(_kind, INCIDENT_KINDS))
KIND_OF_ERROR = {error: kind for kind in KINDS for error in kind.errors}
"""Kind of the incident that an error makes if it follows from no other failure."""
KIND_OF_STATE = {state: kind for kind in KINDS for state in kind.states}
"""Kind of the incident of a broker that was in the state for all hosts."""


def names_of(is_meant: Callable[[Kind], bool]) -> frozenset[str]:
    """Returns the names of the kinds that satisfy a condition."""
    return frozenset(kind.name for kind in KINDS if is_meant(kind))


def words_of(name: str, n: int = 1) -> str:
    """Returns the name of n incidents of a kind in reports."""
    kind = _BY_NAME.get(name)
    if kind is None:
        return "unexplained"
    return kind.plural if n != 1 and kind.plural else kind.words


_BY_NAME = {kind.name: kind for kind in KINDS}
