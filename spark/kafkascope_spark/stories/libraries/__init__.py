"""Client libraries: each is the object at the end of its module."""
