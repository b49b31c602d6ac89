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
# With characters that are seen nowhere, each for what it is to a browser: of most of them part of a name.
_CHARACTERS_HIDE = [
    "<p\x0chidden>SECRET</p>",
    "<p\x0cstyle='display:none'>SECRET</p>",
    "<!-- a --\u200b> SECRET -->",
    "<!-- a -\u00ad-> SECRET -->",
    "<!-- a --\0> SECRET -->",
    "<style>p:not(.x){display:none}</style><p class='\u00a0x'>SECRET</p>",
    "<style>.b\u00a0c{display:none}</style><p class='b\u00a0c'>SECRET</p>",
    "<style>.a{font-family:'x\u2028';display:none}</style><p class=a>SECRET</p>",
    "<style>.a{display:none}p.a{display:block\u200b}</style><p class=a>SECRET</p>",
    "<style>.a{display:none}</style><p class='b\x0ca'>SECRET</p>",
    "<style>.a{display:none}.b\x0c.a{display:block}</style><p class='a b'>SECRET</p>",
    "<style>.a\x0cp{display:none}</style><div class=a><p>SECRET</p></div>",
    "<style>/* *\u200b/ .a{display:block!important} */.a{display:none}</style><p class=a>SECRET</p>",
    *[
        f"<style>.a{{display:none}}{rule}</style><p class=a>SECRET</p>"
        for rule in (
            "\u00a0.a{display:block}",
            "\u2003.a{display:block}",
            ".a\u00a0{display:block}",
            ".a{display:block\u00a0}",
            "\x0b.a{display:block}",
            "@media \u00a0screen{.a{display:block}}",
            "@media screen\u00a0{.a{display:block}}",
            "@media\u00a0screen{.a{display:block}}",
            "@supports (display:bloc\u212a){.a{display:block}}",
            "@supports (display:block\u00a0){.a{display:block}}",
        )
    ],
]
_CHARACTERS_SHOW = [
    "<p><\u200bstyle> SECRET </style></p>",
    "<p><\0script>SECRET</script></p>",
    "<div\u00a0hidden>SECRET</div>",
    "<p style='disp\u200blay:none'>SECRET</p>",
    "<style>.a{display:none}.a:not(.\u00a0x){display:block}</style><p class=a>SECRET</p>",
    "<style>.a{display:none}@supports not (display:bloc\u212a){.a{display:block}}</style><p class=a>SECRET</p>",
    "<input value='SECRET' type='hidden\u00a0'>",
]


def _section(name: str) -> list[str]:
    text = Path(__file__).with_suffix(".txt").read_text("utf-8")
    return [line for line in text.partition(f"[{name}]\n")[2].partition("\n\n")[0].split("\n") if line]


HIDDEN = [*_section("hidden"), *_LONG, *_CHARACTERS_HIDE]
SEEN = [*_section("seen"), *_CHARACTERS_SHOW, "<div>" * (MAX_HTML_DEPTH - 2) + "SECRET"]
READERS_SHOW = _section("readers show")
UNREADABLE = _section("unreadable")
DOUBTFUL = _section("doubtful")


def page(way: str) -> str:
    whole = way.startswith(("<!doctype", "<body"))
    return way if whole else f"<html><body><p>before</p>{way}<p>after</p></body></html>"
