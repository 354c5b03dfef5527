"""The work of commands; imported when a command runs, with all libraries that it needs."""
