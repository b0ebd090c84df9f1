"""Messages for empty parts of a report whose stories the dataset lacks, with what to do about it."""

OLD_STORIES = "the stories are older than this part of the report: `kafkascope stories` makes them again"
NO_STORIES = "the dataset has no stories yet: `kafkascope stories` makes them (it needs Java 17 or newer)"
