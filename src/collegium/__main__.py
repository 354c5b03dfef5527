"""`python -m collegium`: the command line."""

from .cli.main import run_command_line

if __name__ == "__main__":
    run_command_line()
