"""Style sheets and documents made to cost the most together. Each is a function of a number of rules or elements."""

from __future__ import annotations

from collections.abc import Callable

Text = Callable[[int], str]


def _rules(rule: str) -> Text:
    """``#`` stands for the number of the rule."""
    return lambda count: "".join(rule.replace("#", str(number)) for number in range(count))


def _elements(piece: str, before: str = "") -> Text:
    return lambda count: before + "".join(piece.replace("#", str(number)) for number in range(count))


SHEETS: dict[str, Text] = {
    "none": lambda count: "",
    "different classes": _rules(".c#{color:rgb(#,1,2)}"),
    "one class": _rules(".a{margin:#px}"),
    "all but one": _rules("*:not(.q#){padding:#px}"),
    "descendants": _rules(".a .a p{top:#px}"),
    "siblings": _rules("p~p~.a#{top:#px}"),
    "last of a type": _rules("p:nth-last-of-type(#n+1){top:#px}"),
    "having": _rules("p:has(+p):not(.a#){left:#px}"),
    "attributes": _rules("[class~=a# i],[title|=b]{top:#px}"),
    "many declarations": _rules(".a:not(.u#){" + "margin:#px 1px;" * 20 + "}"),
    "colours": _rules(".a{color:oklch(.# .1 #);background:linear-gradient(rgb(# 0 0),hsl(# 1% 2%))}"),
    "perhaps supported": _rules("@supports (x#:y){.a{left:#px}}"),
    "boxes that hide the rest": lambda count: (
        ".a{overflow:hidden;height:300px;width:500px}p{overflow:hidden;max-height:9px}"
    ),
    "states": _rules(":not(:open):not(.a#) *{top:#px}"),
}

DOCUMENTS: dict[str, Text] = {
    "paragraphs": _elements("<p class=a>x</p>"),
    "different styles": _elements("<p class='a a#' style='color:rgb(# 1 0);margin:#px'>x</p>"),
    "deep": _elements("<p class=a>x</p>", "<div class=a style='overflow:hidden;height:900px'>" * 100),
    "deep again and again": lambda count: ("<div class=a>" * 150 + "x" + "</div>" * 150) * (count // 150),
    "links": _elements("<a class=a href=http://h#.example/>x</a>"),
    "animated": _elements("<p class=a style='animation:k #s;flex:# 0 #px;overflow:hidden'>x</p>"),
}
