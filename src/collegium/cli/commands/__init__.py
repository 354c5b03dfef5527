"""One file for each command `name`, with its `name_command` of click; found by the file."""
