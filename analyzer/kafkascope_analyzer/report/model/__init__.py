"""The typed model of the report: all decisions, numbers and words, each section in a module of its own."""
