"""The fields that the page's script draws. A page contains nothing else.

A `Part` has some fields of a class of the report or of the page model. `make docs` makes the TypeScript types of the
script from them, and a test compares the fields with those that the script uses.
"""
