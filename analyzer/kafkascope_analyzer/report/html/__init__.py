"""The report as one HTML file that works offline: what happened, a timeline, starts, recoveries, the cluster.

write_html      the file, from the report and its page model (report.page_model)
compare         the page of `kafkascope diff`, from the comparison
page            style, code and data in one page, and its policy
embedded_data   data as the page may hold it
script          what the page does: modules in TypeScript, which `make page` bundles into page.js
*.css           what it looks like
"""

from kafkascope_analyzer.report.html.write import write_html

__all__ = ["write_html"]
