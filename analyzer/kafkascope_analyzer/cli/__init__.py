"""The command line: `kafkascope`. One file a command; nothing heavy is imported before a command needs it."""


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    from kafkascope_analyzer.cli.standard_streams import fix_standard_streams
    from kafkascope_analyzer.cli.startup import end_process, relax_gc

    relax_gc()
    fix_standard_streams()
    try:
        from kafkascope_analyzer.cli.app import app

        app(prog_name="kafkascope")
    except SystemExit as ended:
        end_process(ended.code)
    except (MemoryError, OSError, RuntimeError, ImportError, SystemError) as error:
        end_process(_code_of_a_limit(error))


def _code_of_a_limit(error: Exception) -> int:
    """Prints which limit of the machine was reached before a command began, or that its output cannot be written;
    returns the exit code. Raises any other error."""
    from kafkascope_analyzer.cli.machine_limits import limit_reached, output_problem
    from kafkascope_analyzer.cli.messages import PLAIN

    sentence = output_problem(error) or limit_reached(error)
    if sentence is None:
        raise error
    PLAIN.error(sentence, 2)
    return 2
