"""The comparison of two captures as an HTML page: the content of the Markdown and JSON forms, as tables."""

from kafkascope_analyzer.report.formatting import count, safe
from kafkascope_analyzer.report.html.embedded_data import packed_json, shown
from kafkascope_analyzer.report.html.page import page
from kafkascope_analyzer.report.model.compare import Comparison, n_worse
from kafkascope_analyzer.report.plain import plain


def comparison_page(model: Comparison) -> str:
    """Returns the text of the file. The same comparison gives the same bytes."""
    title = safe(f"{model.before.name} and {model.after.name}")
    worse = [f"worse: {name} ({n:,})" for name, n in n_worse(model).items()]
    brief = [f"{count(len(model.matched), 'kind')} of client in both", *worse]
    return page(title, brief, {"data-comparison": packed_json(shown(plain(model), 0))})
