"""The reference pages under docs/, a module each: what the program declares, as Markdown."""
