"""Reports of several clusters as Markdown: the list of clusters, then the report of each."""

from kafkascope_analyzer.report.formatting import list_of
from kafkascope_analyzer.report.markdown.report import to_markdown
from kafkascope_analyzer.report.markdown.text import code, table
from kafkascope_analyzer.report.model.clusters import ClusterReports
from kafkascope_analyzer.report.model.report import Report

MOST_SERVERS = 3
MOST_IDS = 4


def markdown_of(model: Report | ClusterReports) -> str:
    """Returns the report, or the reports of all clusters, as GitHub's Markdown, with a trailing newline."""
    if isinstance(model, Report):
        return to_markdown(model)
    head = [("cluster", ""), ("servers", ""), ("clients", "r"), ("verdict", ""), ("incidents", "r"), ("findings", "r")]
    rows = [
        [
            code(each.cluster),
            list_of([code(server) for server in each.servers], MOST_SERVERS),
            *(str(figure) for figure in (each.n_clients, each.verdict, each.n_incidents, each.n_findings)),
        ]
        for each in model.clusters
    ]
    lines = [f"# {len(model.clusters)} clusters", "", *table(head, rows), ""]
    for client in model.shared_clients:
        names = list_of([code(name) for name in client.client_ids], MOST_IDS)
        clusters = list_of([code(name) for name in client.clusters], MOST_IDS)
        lines.append(f"- {code(client.client_ip)} talks to {clusters}: {client.what} ({names})")
    return "\n".join([*lines, ""]) + "".join(f"\n{to_markdown(report)}" for report in model.reports)
