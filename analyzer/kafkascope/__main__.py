"""`python -m kafkascope`: the same as `kafkascope`."""

from kafkascope_analyzer.cli import main

main()
