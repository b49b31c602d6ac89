"""Ways to hide text in a mail, and ways that only look like hiding: hiding_ways.txt, one a line. The bench asks a
browser about each of them.

Each is the inside of a body; ``SECRET`` stands for the text in question. A way that begins with ``<!doctype`` or
``<body`` is a whole page. The sections:

- hidden: no reader sees it
- seen: a reader does
- readers show: a browser with scripts does not show it, mail readers do
- unreadable: something is drawn, but no letters
- doubtful: old, odd, or to be decided by layout and pictures alone
"""

from __future__ import annotations

from pathlib import Path

from postroom.mime.limits import MAX_HTML_DEPTH

_RULES = "".join(f".f{number}{{color:red}}" for number in range(1_500))
_LONG = [
    f"<style>{_RULES}.x{{display:none}}</style><p class=x>SECRET</p>",
    f"<style>/*{'x' * 250_000}*/.x{{display:none}}</style><p class=x>SECRET</p>",
    f"<style>.p{{padding:{'0' * 250_000}}}.x{{display:none}}</style><p class=x>SECRET</p>",
    "<div>" * 505 + "<div style='display:none'>" + "<p>" * 3 + "SECRET",
    "<div style='display:none'>" + "<span>" * 700 + "SECRET" + "</span>" * 700 + "</div>",
]


def _section(name: str) -> list[str]:
    text = Path(__file__).with_suffix(".txt").read_text("utf-8")
    return [line for line in text.partition(f"[{name}]\n")[2].partition("\n\n")[0].split("\n") if line]


HIDDEN = [*_section("hidden"), *_LONG]
SEEN = [*_section("seen"), "<div>" * (MAX_HTML_DEPTH - 2) + "SECRET"]
READERS_SHOW = _section("readers show")
UNREADABLE = _section("unreadable")
DOUBTFUL = _section("doubtful")


def page(way: str) -> str:
    whole = way.startswith(("<!doctype", "<body"))
    return way if whole else f"<html><body><p>before</p>{way}<p>after</p></body></html>"
