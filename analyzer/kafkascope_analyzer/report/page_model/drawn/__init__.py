"""What the page's script draws, field by field: nothing else is in a page.

A `Part` has some fields of a class of the report or of the page model. `make docs` makes the types of the script of
them, and a test compares the fields with what the script uses.
"""
