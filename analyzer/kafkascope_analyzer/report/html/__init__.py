"""The report as one HTML file that works offline: what happened, a timeline, starts, recoveries, the cluster.

write_html   the file
page         style, code and data in one page, and its policy
islands      data as the page may hold it
thinning     which requests it has where there are too many
request_columns, named_partitions, names   the requests as columns
lanes        clients and connections
starts_and_recoveries, optional_tables, cluster_story, evidence, waits   rows of the stories and of the topology
*_texts, story_lists, bands   their words, and what is shown together: the page's script decides nothing
script       what the page does: modules in TypeScript, which `make page` bundles into page.js
*.css        what it looks like
"""

from kafkascope_analyzer.report.html.write import write_html

__all__ = ["write_html"]
