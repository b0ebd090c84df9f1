"""The first stage: reads files, series of files and standard input as blocks of TCP segments."""
