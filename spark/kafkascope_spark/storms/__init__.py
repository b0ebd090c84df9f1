"""How the events of an address with a storm of errors get to the machine that tells its story.

Spark would read a storm row by row into wide rows and sort them by columns that are all the same. So workers read the
rows of such an address (storm) from the dataset's files themselves, in columns, and write their events in packs, each
in order (read, mentions; packs says how); Spark sorts one row a pack; and the worker that tells the story merges the
packs that overlap (packs.in_order). The rows that come out are those that Spark's own queries (events) would give.
"""
