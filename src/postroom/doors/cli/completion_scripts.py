"""Completion scripts for three shells, generated from the parser.

A place is a position in the command line: "", " accounts", " accounts add". Each shell finds the place, then looks
whether the word before wants a value, then offers what may follow there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Offers:
    """What may follow: words by place, values by place and option, and where a file is wanted."""

    words: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)
    files_after: set[str] = field(default_factory=set)  # options
    files_at: set[str] = field(default_factory=set)  # places


def render(shell: str, parser: argparse.ArgumentParser) -> str:
    offers = Offers()
    _walk(parser, "", offers)
    return "\n".join({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](offers))


def _walk(parser: argparse.ArgumentParser, place: str, offers: Offers) -> None:
    words = offers.words.setdefault(place, [])
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, verb in action.choices.items():
                words.append(name)
                _walk(verb, f"{place} {name}", offers)
        elif action.option_strings:
            words += action.option_strings
            for option in action.option_strings:
                _value(action, f"{place} {option}", option, offers)
        elif action.choices:
            words += map(str, action.choices)
        elif action.type is Path:
            offers.files_at.add(place)


def _value(action: argparse.Action, key: str, option: str, offers: Offers) -> None:
    if action.choices:
        offers.values[key] = [str(choice) for choice in action.choices]
    elif action.type is Path:
        offers.files_after.add(option)


def _bash(offers: Offers) -> Iterator[str]:
    yield "_postroom() {"
    yield '  local place="" word at current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"'
    yield "  COMPREPLY=()"
    yield '  for ((at = 1; at < COMP_CWORD; at++)); do word="${COMP_WORDS[at]}"'
    yield from _cases(offers, 'COMPREPLY=($(compgen -W "{}" -- "$current"))', "compopt -o default")
    yield "}"
    yield "complete -F _postroom postroom"


def _zsh(offers: Offers) -> Iterator[str]:
    yield "#compdef postroom"
    yield "_postroom() {"
    yield '  local place="" word before="${words[CURRENT-1]}"'
    yield '  for word in "${(@)words[2,CURRENT-1]}"; do'
    yield from _cases(offers, "compadd -- {}", "_files")
    yield "}"
    yield 'if [ "${funcstack[1]}" = "_postroom" ]; then _postroom "$@"; else compdef _postroom postroom; fi'


def _cases(offers: Offers, offer: str, files: str) -> Iterator[str]:
    """The part that bash and zsh share, starting inside the loop over the words typed so far."""
    yield f'    case "$place $word" in {_any(offers.words)}) place="$place $word" ;; esac'
    yield "  done"
    yield f'  case "$before" in {_any(sorted(offers.files_after))}) {files}; return ;; esac'
    yield '  case "$place $before" in'
    for key, values in offers.values.items():
        yield f'    "{key}") {offer.format(" ".join(values))}; return ;;'
    yield "  esac"
    yield '  case "$place" in'
    for place, words in offers.words.items():
        also = f"; {files}" if place in offers.files_at else ""
        yield f'    "{place}") {offer.format(" ".join(words))}{also} ;;'
    yield "  esac"


def _fish(offers: Offers) -> Iterator[str]:
    files = "__fish_complete_path (commandline -ct)"
    yield "function __postroom_offers"
    yield '    set -l place ""'
    yield "    set -l before (commandline -opc)"
    yield "    for word in $before[2..-1]"
    yield f'        switch "$place $word"; case {_any(offers.words, " ")}; set place "$place $word"; end'
    yield "    end"
    yield f'    switch "$before[-1]"; case {_any(sorted(offers.files_after), " ")}; {files}; return; end'
    yield '    switch "$place $before[-1]"'
    for key, values in offers.values.items():
        yield f'        case "{key}"; printf "%s\\n" {" ".join(values)}; return'
    yield "    end"
    yield '    switch "$place"'
    for place, words in offers.words.items():
        also = f"; {files}" if place in offers.files_at else ""
        yield f'        case "{place}"; printf "%s\\n" {" ".join(words)}{also}'
    yield "    end"
    yield "end"
    yield "complete -c postroom -f -a '(__postroom_offers)'"


def _any(words: Iterable[str], between: str = "|") -> str:
    return between.join(f'"{word}"' for word in words if word)
