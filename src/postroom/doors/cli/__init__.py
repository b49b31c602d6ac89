"""The `postroom` command, for people at a terminal.

One module per command, each with `register(subparsers)` and `run(args) -> exit code`; `main.COMMANDS` lists them. A
command imports what it needs when it runs, so that ``postroom --help`` costs nothing. Exit codes: 0 success, 1 failure,
2 the command line or the settings are wrong.
"""
