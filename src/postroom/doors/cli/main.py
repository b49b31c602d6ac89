"""Parses the command line and runs the command it names."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from postroom import __version__
from postroom.doors.cli.options import CountTools, Serve
from postroom.model.errors import InvalidRequest, PostroomError

COMMANDS = (
    "serve",
    "demo",
    "accounts",
    "search",
    "read",
    "importing",
    "sync",
    "doctor",
    "approvals",
    "outbox",
    "rules",
    "templates",
    "audit",
    "tokens",
    "completion",
)

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


def run(argv: Sequence[str] | None, *, serve: Serve, count_tools: CountTools | None = None) -> int:
    """No traceback for what a person can fix: a message on standard error and an exit code."""
    if sys.platform == "win32":  # file locks and owners are POSIX's: without them two programs could send one message
        print("postroom: it runs on Linux and macOS. On Windows, run it in WSL (wsl --install).", file=sys.stderr)
        return EXIT_USAGE
    parser = build_parser(serve)
    parser.set_defaults(count_tools=count_tools)
    args = parser.parse_args(argv)
    _show_own_warnings()
    try:
        return int(args.run(args))
    except PostroomError as error:
        for line in error.message.splitlines():
            print(f"postroom: {line}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, InvalidRequest) else EXIT_FAILED
    except (KeyboardInterrupt, EOFError):  # Ctrl-C, or Ctrl-D at a prompt
        if sys.stderr.isatty():
            print(file=sys.stderr)  # the shell's own prompt on a line of its own
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe (postroom search ... | head); keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as error:  # a file that nobody may read, a full disk
        place = f"{error.filename}: " if error.filename else ""
        print(f"postroom: {place}{error.strerror or str(error) or type(error).__name__}", file=sys.stderr)
        return EXIT_FAILED


def build_parser(serve: Serve) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="postroom", description="An email gateway for AI agents.")
    parser.add_argument("--version", action="version", version=f"postroom {__version__}")
    parser.set_defaults(serve=serve, run=lambda _: _show_help(parser))
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"postroom.doors.cli.{name}").register(subparsers)
    return parser


def _show_help(parser: argparse.ArgumentParser) -> int:
    """When no command is given."""
    parser.print_help(sys.stderr)
    return EXIT_USAGE


def _show_own_warnings() -> None:
    """Our warnings are bare event names. Those of libraries are left out: they may quote untrusted text."""
    import logging

    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(logging.Filter("postroom"))
    handler.setFormatter(logging.Formatter("postroom: %(message)s"))
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(handler)
