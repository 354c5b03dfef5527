"""The entry point: find the command, run it, end with its exit code."""

from __future__ import annotations

import os
import pkgutil
import signal
import sys
import threading
import traceback
from errno import EPIPE
from importlib import import_module
from typing import Any

import click

from ..numerics.version import __version__
from . import commands
from .failures import INTERRUPTED, failure_of
from .terminal import Terminal

#: As `--help` lists them; others follow.
ORDER = (
    "fit", "update", "predict", "score", "report", "info", "diff", "forget", "replace", "merge",
    "as-of", "verify", "serve", "doctor", "demo",
)  # fmt: skip
#: What a shell says of a process that wrote to a closed pipe, and of one that was told to end.
CLOSED_PIPE, TERMINATED = 141, 143


class Commands(click.Group):
    """Commands by the names of the files in `commands/`, imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = [one.name.replace("_", "-") for one in pkgutil.iter_modules(commands.__path__)]
        return sorted(found, key=lambda name: (*ORDER, name).index(name))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        name = cmd_name.replace("-", "_")
        return getattr(import_module(f".{name}", commands.__name__), f"{name}_command")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            found = super().invoke(ctx)
            sys.stdout.flush()
        except Exception as error:
            if not _closed_pipe(error):
                raise
            sys.stdout = open(os.devnull, "w")  # nothing is left to be flushed at the end
            raise click.exceptions.Exit(CLOSED_PIPE) from error
        return found

    def main(self, *args: Any, **more: Any) -> Any:
        """Run a command; errors are words on the standard error and an exit code."""
        terminal = Terminal()
        more = {**more, "standalone_mode": False, "obj": terminal}
        try:
            code = super().main(*args, **more)
        except (Exception, KeyboardInterrupt) as error:
            terminal.clear()
            if terminal.debug:
                traceback.print_exception(error)
            found = failure_of(error)
            terminal.fail(found)
            code = found.code
        sys.exit(code if isinstance(code, int) else 0)


def _closed_pipe(error: BaseException | None) -> bool:
    """Whether a reader of the standard output has gone; libraries wrap that error in their own."""
    while error is not None:
        if isinstance(error, OSError) and (error.errno == EPIPE or "Broken pipe" in str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="collegium")
@click.option("--debug", is_flag=True, help="Show where an error arose.")
@click.pass_obj
def collegium(terminal: Terminal, debug: bool) -> None:
    """Bayesian regression by committee: predictions with error bars from tables in files.

    \b
    collegium fit trees.csv -y height -x east,north -o trees.clg
    collegium predict trees.clg places.csv -o heights.csv --interval 0.9

    Words go to the standard error, data to the standard output. Exit codes: 2 usage, 3 data,
    4 model file, 5 limit, 130 interrupted.
    """
    terminal.debug = debug


def repeat_lost_interrupts(lost: Any) -> None:
    """Interrupt again, a moment later, where an interrupt arose in a destructor or in a callback
    from C: Python prints such errors and goes on (`sys.unraisablehook`)."""
    signals = {KeyboardInterrupt: signal.SIGINT, SystemExit: signal.SIGTERM}
    if lost.exc_type in signals:
        # from a thread: a signal raised here would be lost like the first
        threading.Timer(0.01, os.kill, (os.getpid(), signals[lost.exc_type])).start()
    else:
        sys.__unraisablehook__(lost)


def run_command_line() -> None:
    """Run the command line of this process."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    sys.unraisablehook = repeat_lost_interrupts
    try:
        collegium.main(prog_name="collegium")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
