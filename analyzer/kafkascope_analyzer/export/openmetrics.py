"""Writes series in the text format of OpenMetrics 1.0, with the capture's own times, for `promtool tsdb
create-blocks-from openmetrics`.
"""

from collections.abc import Iterator
from math import isinf, isnan

from kafkascope_analyzer.export.series import Family, families, samples
from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.sql.database import Database


def openmetrics(database: Database, step: int) -> Iterator[str]:
    """Yields the text, line by line. Raises UsageError."""
    for family in families():
        written = False
        for labels, at_s, value in samples(database, family, step):
            if not written:
                yield f"# TYPE {family.name} {family.kind}\n"
                if family.unit:
                    yield f"# UNIT {family.name} {family.unit}\n"
                yield f"# HELP {family.name} {family.help}\n"
                written = True
            yield _line(family, labels, at_s, value)
    yield "# EOF\n"


def _line(family: Family, labels: tuple[str, ...], at_s: int, value: float) -> str:
    """Returns the line of a sample; for a histogram's last bucket also the count, which is the same."""
    pairs = list(zip(family.labels, labels, strict=False))
    if family.kind == "histogram":
        le = float(labels[-1])
        if isnan(le):
            return _sample(f"{family.name}_sum", pairs, at_s, value)
        bucket = _sample(f"{family.name}_bucket", [*pairs, ("le", "+Inf" if isinf(le) else str(le))], at_s, value)
        return bucket + _sample(f"{family.name}_count", pairs, at_s, value) if isinf(le) else bucket
    return _sample(f"{family.name}_total" if family.kind == "counter" else family.name, pairs, at_s, value)


def _sample(name: str, labels: list[tuple[str, str]], at_s: int, value: float) -> str:
    shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
    return f"{name}{{{shown}}} {value} {at_s}\n"


def _escaped(text: str) -> str:
    """Returns the value of a label. A text without hidden characters has no line end."""
    return safe(text).replace("\\", "\\\\").replace('"', '\\"')
