"""`python -m kafkascope_analyzer.cli`: the same as `kafkascope`."""

from kafkascope_analyzer.cli import main

main()
