"""Parts of the analysis that failed, in the form of the report, and the empty section that replaces a failed one.

A section that cannot be made because of a defect is empty, gives that as the reason for its absence, and is named in
`failed_parts` and in the headline. The other sections are not affected (dataset.failed_parts).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from kafkascope_analyzer.dataset.failed_parts import FailedPart, FailedParts, joined_parts
from kafkascope_analyzer.report.formatting import safe

T = TypeVar("T")
SECTION = "section of the report"
"""The kind of a failed part that is a section of the report."""
_NOT_MADE = "This section could not be made because of a defect of kafkascope; failed_parts in report.json names it"
_EMPTY: dict[Any, Any] = {int: 0, float: 0.0, str: "", bool: False, tuple: (), dict: {}, list: []}


@dataclass(frozen=True, slots=True)
class FailedPartRow:
    """Failed parts of the analysis of one kind and one place in the program, which are missing from the report."""

    kind: Annotated[str, "kind of the parts, such as rule, client, incident detector or section of the report"]
    names: Annotated[tuple[str, ...], "names of the parts, at most 50"]
    n: Annotated[int, "how many"]
    reason: Annotated[str, "reason, without any value of the capture"]
    places: Annotated[tuple[str, ...], "places in the program, the innermost last, for a report of the defect"]
    sentence: Annotated[str, "parts that failed, and the reason"]


def failed_rows(parts: Iterable[FailedPart]) -> tuple[FailedPartRow, ...]:
    """Returns the parts in the form of the report."""
    return tuple(
        FailedPartRow(part.kind, tuple(map(safe, part.names)), part.n, part.reason, part.places, safe(part.sentence))
        for part in joined_parts(parts)
    )


def sections(failed_parts: FailedParts, model: type, made_by: Mapping[str, Callable[[], Any]]) -> Mapping[str, Any]:
    """Makes the sections of a report by their names; a section that cannot be made is empty. model: the dataclass of
    the report; made_by: the name of each section, and the function that makes it."""
    hints = get_type_hints(model)
    made = {name: failed_parts.value(SECTION, name, None, make) for name, make in made_by.items()}
    return {name: _empty_value(hints[name]) if value is None else value for name, value in made.items()}


def empty(kind: type[T]) -> T:
    """Returns an instance of a report's dataclass without content; its field for presence gives the reason."""
    hints = get_type_hints(kind)
    values = {each.name: _empty_value(hints[each.name]) for each in fields(kind)}  # type: ignore[arg-type]
    if "why_not" in values:
        values["why_not"] = _NOT_MADE
    return kind(**values)


def _empty_value(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return _empty_value(get_args(hint)[0])
    if NoneType in get_args(hint):
        return None
    if is_dataclass(hint):
        return empty(hint)  # type: ignore[arg-type]
    return _EMPTY.get(get_origin(hint) or hint)
