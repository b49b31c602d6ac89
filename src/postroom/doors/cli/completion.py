"""postroom completion: a script that lets a shell complete commands, flags and fixed choices, made from the parser."""

from __future__ import annotations

import argparse

from postroom.doors.cli.options import Subparsers

SHELLS = ("bash", "zsh", "fish")
_HOW = """\
bash: echo 'eval "$(postroom completion bash)"' >> ~/.bashrc
zsh:  echo 'eval "$(postroom completion zsh)"' >> ~/.zshrc   (after compinit)
fish: postroom completion fish > ~/.config/fish/completions/postroom.fish"""


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "completion",
        help="print a script that lets your shell complete postroom commands",
        description=_HOW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from postroom.doors.cli import completion_scripts
    from postroom.doors.cli.main import build_parser

    print(completion_scripts.render(args.shell, build_parser(args.serve)))
    return 0
