"""The command line: `kafkascope`. One file a command; nothing heavy is imported before a command needs it."""


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    from kafkascope_analyzer.cli.startup import end_process, relax_gc

    relax_gc()
    from kafkascope_analyzer.cli.app import app

    try:
        app(prog_name="kafkascope")
    except SystemExit as ended:
        end_process(ended.code)
