"""The data that the HTML page shows beyond report.json, made from the dataset's tables. report.html draws it and reads
no table.

page_model   the whole: the story, and the requests as columns
story        everything but the columns, as one dataclass, whose types the page's script gets
thinning     which requests the page has where there are too many
request_columns, named_partitions, names   the requests as columns
lanes        clients and connections
starts_and_recoveries, cluster_story, evidence, waits   rows of the stories and of the topology
*_texts, story_lists, bands   their words, and what is shown together: the page's script decides nothing
"""
