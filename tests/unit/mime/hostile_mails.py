"""Mails made to keep their reader busy. Each is a function of a size in bytes: how the cost grows can be seen."""

from __future__ import annotations

import base64
from collections.abc import Callable

Mail = Callable[[int], bytes]

_SHEET = 4_000  # bytes of rules for a growing number of elements: the product of both has a bound of its own


def _times(piece: bytes, size: int) -> bytes:
    return piece * max(1, size // len(piece))


def _header(name: bytes, piece: bytes, before: bytes = b"", after: bytes = b"") -> Mail:
    return lambda size: name + b": " + before + _times(piece, size) + after + b"\r\n\r\nbody"


def _headers(piece: bytes) -> Mail:
    return lambda size: _times(piece, size) + b"\r\nbody"


def _body(kind: bytes, piece: bytes, before: bytes = b"", after: bytes = b"") -> Mail:
    head = b"Subject: x\r\nContent-Type: " + kind + b"\r\n\r\n"
    return lambda size: head + before + _times(piece, size) + after


def _html(piece: bytes, before: bytes = b"", after: bytes = b"") -> Mail:
    return _body(b"text/html; charset=utf-8", piece, before, after)


def _text(piece: bytes, before: bytes = b"", after: bytes = b"") -> Mail:
    return _body(b"text/plain; charset=utf-8", piece, before, after)


def _style(piece: bytes, before: bytes = b"", after: bytes = b"") -> Mail:
    return _html(piece, b"<style>" + before, after + b"</style><p class=a>hello</p>")


def _parts(piece: bytes, boundary: bytes = b"bx") -> Mail:
    return _body(b"multipart/mixed; boundary=" + boundary, piece)


def _encoded(encoding: bytes, kind: bytes, piece: bytes) -> Mail:
    head = b"Content-Type: " + kind + b"\r\nContent-Transfer-Encoding: " + encoding + b"\r\n\r\n"
    return lambda size: head + _times(piece, size)


def _nested(opening: bytes, closing: bytes, core: bytes = b"x") -> Mail:
    def mail(size: int) -> bytes:
        times = max(1, size // (len(opening) + len(closing)))
        return b"Content-Type: text/html\r\n\r\n" + opening * times + core + closing * times

    return mail


def _numbered(frame: bytes, kind: bytes = b"text/html", before: bytes = b"", after: bytes = b"") -> Mail:
    """Pieces that are all different."""

    def mail(size: int) -> bytes:
        pieces = (frame.replace(b"#", b"%d" % n) for n in range(max(1, size // (len(frame) + 3))))
        return b"Content-Type: " + kind + b"\r\n\r\n" + before + b"".join(pieces) + after

    return mail


def _address_headers(names: tuple[bytes, ...], piece: bytes) -> Mail:
    """The same in several headers, each as long as one may be."""
    return lambda size: b"".join(name + b": " + _times(piece, size // len(names)) + b"\r\n" for name in names) + b"\r\n"


def _in_two(first: Mail, second: bytes) -> Mail:
    """The mail, with so many pieces of another kind at its end."""
    return lambda size: first(size // 2) + _times(second, size // 2)


HEADERS: dict[str, Mail] = {
    **{
        f"{name.decode()} of {piece!r}": _header(name, piece, before, after)
        for name in (b"To", b"Subject", b"Content-Type")
        for before, piece, after in (
            (b"", b"a@", b" x"),
            (b"a", b" ", b"b"),
            (b"", b"a ", b""),
            (b"", b"=?utf-8?q?a", b""),
            (b"", b"=?utf-8?b?YQ==?=", b""),
            (b"", b"=?utf-8?q?=E4?= =?latin1?q?=E4?= ", b""),
            (b"", b"=?iso-2022-jp?b?GyRCJCI=?=", b""),
            (b"x/y", b";a=b", b""),
            (b"x/y", b"; ", b""),
            (b"x/y", b';a="\\"', b""),
            (b"x/y", b";a*0*=%", b""),
            (b"x/y", b';a="b', b""),
            (b"x/y;a=", b" ", b"x"),
            (b"", b'"', b""),
            (b"", b'"a" ', b""),
            (b"", b"(", b""),
            (b"", b"(a)", b""),
            (b"", b"<", b""),
            (b"", b"<(", b">"),
            (b"<", b"(a", b">"),
            (b"", b"<a@b>", b""),
            (b"", b"<a@b", b""),
            (b"", b"a@b,", b""),
            (b"", b"a,", b""),
            (b"", b"\\", b""),
            (b"", b"1", b""),
            (b"", b"(1) ", b""),
            (b"", b"g:;", b""),
            (b"", b"\r\n ", b"x"),
            (b"", b"\xe4 ", b""),
            (b"", b"\xe2\x80\x8d", b""),
            (b"", b"\x1b[", b""),
        )
    },
    **{
        f"{kind} of {piece!r}": _address_headers(names, piece)
        for kind, names in (
            ("all address headers", (b"From", b"Sender", b"To", b"Cc", b"Bcc", b"Reply-To")),
            ("eight headers To", (b"To",) * 8),
        )
        for piece in (b"; ", b"<", b"g:;", b'"\\', b'"', b"(1) ", b"=?utf-8?q?=E4?= =?latin1?q?=E4?= ")
    },
    "ids": _headers(b"References: <a@b> <c@d>\r\n"),
    "many fields": _headers(b"X: 1\r\n"),
    "many To": _headers(b"To: a@b\r\n"),
    "many From": _headers(b"From: a@b\r\n"),
    "many lines that are no fields": _headers(b"odd line\r\nX: 1\r\n"),
    "odd lines": _headers(b"odd line\r\n"),
    "bare returns": _headers(b"X: 1\r"),
    "8-bit fields": _headers(b"X: \xe4\r\n"),
    "different fields": lambda size: b"".join(b"X-%d: \xe4\r\n" % n for n in range(size // 10)) + b"\r\nx",
    "continuations": lambda size: (
        b"Content-Type: text/plain"
        + b"".join(b";name*%d*=%%41" % (n * 7919 % 10_000) for n in range(size // 15))
        + b"\r\n\r\nbody"
    ),
    "authentication results": _header(b"Authentication-Results", b"(", b"a; ", b")"),
    "authentication reasons": _header(b"Authentication-Results", b'"\\', b"a; "),
}

STRUCTURE: dict[str, Mail] = {
    "marks without a break": _parts(b"--bx"),
    "marks of hyphens": _parts(b"-", b"-"),
    "marks in lines": _parts(b"--bx\r\n"),
    "marks with a tail": _parts(b"--bxx\r\n"),
    "parts": _parts(b"--bx\r\nContent-Type: text/plain\r\n\r\nhi\r\n"),
    "html parts": _parts(b"--bx\r\nContent-Type: text/html\r\n\r\n<p>hi\r\n"),
    "files": _parts(b"--bx\r\nContent-Type: image/png; name=a\r\n\r\nhi\r\n"),
    "parts within parts": lambda size: b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (n, n) for n in range(size // 60)
    ),
    "one boundary within itself": lambda size: _times(
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n", size
    ),
    "mails within mails": lambda size: _times(b"Content-Type: message/rfc822\r\n\r\n", size),
    "parts without headers' end": _parts(b"--bx\r\nX: "),
    "returns": _parts(b"\r"),
    "breaks": lambda size: _times(b"\r\n", size),
    "breaks in a body": _text(b"\r\n"),
    "returns in a body": _text(b"\r"),
}

_ENCODED = (b"=A", b"=", b"A", b"A=\r\n", b"=\r\n", b" \r\n", b"!\r\n", b"\xe4", b"\xff", b"+A", b"\x1b$B", b"QUJD\r\n")

ENCODINGS: dict[str, Mail] = {
    f"{encoding.decode()} of {piece!r} as {kind.decode()}": _encoded(encoding, kind, piece)
    for encoding, kind in (
        (b"base64", b"text/plain"),
        (b"base64", b"application/pdf"),
        (b"quoted-printable", b"text/plain"),
        (b"x-uuencode", b"text/plain"),
        (b"x-uuencode", b"application/pdf"),
        (b"8bit", b"text/plain; charset=utf-7"),
        (b"8bit", b"text/plain; charset=iso-2022-jp"),
        (b"8bit", b"text/plain; charset=iso-8859-7"),
    )
    for piece in _ENCODED
}

TEXTS: dict[str, Mail] = {
    "flowed": _body(b"text/plain; format=flowed", b"a \n"),
    "flowed quotes": _body(b"text/plain; format=flowed", b"> a \n"),
    "flowed signatures": _body(b"text/plain; format=flowed", b"-- \na \n"),
    "flowed marks": _body(b"text/plain; format=flowed", b">"),
    "a gap": _text(b" ", b"a", b"b"),
    "tabs": _text(b"\t", b"a", b"b"),
    "gaps": _text(b"a  "),
    "quotes": _text(b"> a\n"),
    "answers": _text(b"> a\nb\n"),
    "wrote": _text(b"On 1 wrote:\n"),
    "wrote, quoted": _text(b"On 1 wrote:\n> a\n"),
    "from": _text(b"From: a\n"),
    "from and gaps": _text(b"From: a\n\n\n"),
    "separators": _text(b"-- "),
    "separator lines": _text(b"--\n"),
    "gaps then a mark": _text(b"\n", b"a\n", b"> b"),
    "a gap above history": _text(b"\n", b"-", b"-----Original Message-----\nb"),
    "marked gaps": _text(b"> a\n\n"),
    "rules": _text(b"-"),
    "forwards": _text(b"---- Forwarded message\n"),
    "header blocks": _text(b"From: a\nSent: 1\nTo: b\nSubject: c\nd\n"),
    "quoted header blocks": _text(b"> From: a\n> Subject: c\n\nd\n"),
    "half header blocks": _text(b"From: a\nTo: b\n\n\n"),
    "original messages": _text(b"-----Original Message-----\n\n"),
    "addresses in a header block": _text(b"To: a@b.example, c;\n", b"> From: a\n"),
    "many addresses in one line": _text(b"a@b.example, ", b"> From: a\n> To: "),
    "marks without words": _text(b">\n", b"On 1 wrote:\n", b"> b"),
    "marks without words, and words": _text(b">\n>\n> a\n>\n"),
    "rules above history": _text(b"----------\n\nOn 1 a wrote:\nb\n"),
    "colons": _text(b":"),
    "lines of colons": _text(b"a:\n"),
    "dated": _text(b"2024-01-01 a@b.example:\nb\n"),
    "a mail program's addresses": _text(b"a <mailto:"),
    "targets": _text(b"]("),
    "a long line above marks": lambda size: b"\r\n" + b"a" * (size // 2) + b" wrote:\n" + _times(b"> b\n\n", size // 2),
    "a long subject and header blocks": lambda size: (
        b"Subject: " + _times(b"a ", size // 2) + b"\r\n\r\n" + _times(b"> Subject: a\n\nb\n", size // 2)
    ),
    "links": _text(b"http://"),
    "long links": _text(b"a", b"http://"),
    "links to redirectors": _text(b"http://google.com/url?q=" + b"a" * 60 + b" "),
    "dots": _text(b".", b"http://", b" "),
    "escapes": _text(b"\x1b["),
    "unclosed escapes": _text(b"\x1b]"),
    "escapes in escapes": _text(b"\x1b", b"", b"x"),
    "half escapes": lambda size: b"\r\n" + b"\x1b" * (size // 2) + b"[" * (size // 2),
    "escapes that take letters off joiners": _text("\x1b1\ufe0f\u200d1".encode()),
    "letters reversed": _text("\u202eab".encode()),
    "controls between letters": _text(b"\0a"),
    "joiners": _text("\u200d".encode()),
    "joined": _text("a\u200d\u200c".encode()),
    "selectors": _text("\ufe0f".encode()),
    "accents": _text("\u0301".encode(), b"a"),
    "accents out of order": _text("\u0301\u0323".encode(), b"a"),
    "ligatures": _text("\ufdfa".encode()),
    "characters": _text("漢".encode()),
    "quoted squares": _text("> \u3315\u334d\n".encode()),
    "a quoted line of squares": _text("\u3315".encode(), b"> "),
    "words": _text(b"a "),
    "browser": _text(b"browser\n"),
}

HTML: dict[str, Mail] = {
    "fonts": _nested(b"<font>", b""),
    "fonts, closed": _nested(b"<font>", b"</font>"),
    "bold paragraphs": _html(b"<b><p>"),
    "bold within italics": _html(b"<b><i></b>"),
    "links within links": _html(b"<a href=http://x.example/>a"),
    "links": _html(b"<a href=http://x.example/>a</a> "),
    "named fonts": _numbered(b"<font size=#>"),
    "named bold": _numbered(b"<b id=#><p>"),
    "nobr": _html(b"<nobr>a"),
    "divs": _nested(b"<div>", b""),
    "divs, closed": _nested(b"<div>", b"</div>"),
    "spans": _nested(b"<span>", b"</span>"),
    "coloured spans": _nested(b"<span style=color:red>", b"</span>"),
    "spans of many colours": _numbered(b"<span style=color:rgb(#,0,0)>a</span>"),
    "spans within spans of many sizes": _numbered(b"<span style=font-size:#px>a"),
    "divs around quotes": _in_two(_nested(b"<div>", b""), b"<blockquote type=cite>a</blockquote>"),
    "quotes": _html(b"<blockquote type=cite>a</blockquote>"),
    "quotes with lines above": _html(b"<p>On 1 wrote:<blockquote type=cite>a</blockquote>"),
    "quotes in quotes": _nested(b"<blockquote type=cite>", b"</blockquote>"),
    "blockquotes": _nested(b"<blockquote>", b"</blockquote>"),
    "forwarded quotes": _html(b"<blockquote type=cite>---- Forwarded message</blockquote>"),
    "a long line above quotes": lambda size: (
        b"Content-Type: text/html\r\n\r\n<p>"
        + b"a" * (size // 2)
        + _times(b"<blockquote type=cite></blockquote>", size // 2)
    ),
    "mark and what follows": _html(b"<div><div>a", b"<div id=divRplyFwdMsg>"),
    "marks": _html(b"<div id=divRplyFwdMsg>a</div>"),
    "lines that Outlook draws": _html(b"<div style='border-top:solid #e1e1e1 1.0pt'>a</div>"),
    "lines that Outlook draws around nothing": _html(b"<p></p>", b"<div style='border-top:solid #e1e1e1 1pt'>" * 300),
    "lines that Outlook draws in one another": _nested(b"<div style='border-top:solid #e1e1e1 1.0pt'>", b"</div>"),
    "quotes with answers": _html(b"<p>b<blockquote type=cite>a</blockquote>"),
    "quotes in one line": _html(b"b<blockquote type=cite>a</blockquote>", b"<div>"),
    "wrapped quotes": _html(b"<div class=gmail_quote><blockquote>a</blockquote></div>"),
    "mark deep down": lambda size: (
        b"Content-Type: text/html\r\n\r\n" + _times(b"<div>a", size) + b"<div id=divRplyFwdMsg>a"
    ),
    "lists": _nested(b"<ul><li>", b""),
    "lists, closed": _nested(b"<ul><li>", b"</ul>"),
    "items": _html(b"<li>a"),
    "numbered lists": _nested(b"<ol><li>a", b""),
    "tables": _nested(b"<table><tr><td>", b""),
    "tables, closed": _nested(b"<table><tr><td>", b"</td></tr></table>"),
    "table rows": _html(b"<tr><td>a<td>b", b"<table>"),
    "table cells": _html(b"<td>a", b"<table><tr>"),
    "tables in a row": _html(b"<table><tr><td>a<td>b<tr><td>c<td>d</table>"),
    "text in tables": _html(b"<table>a"),
    "columns": _html(b"<td colspan=1000 rowspan=65534>", b"<table><tr>"),
    "rows of different lengths": _html(b"<tr>" + b"<td>a" * 2, b"<table><tr>" + b"<td>a" * 500),
    "images": _html(b"<img src=a alt='hello there'>"),
    "pixels": _html(b"<img src=a width=1>"),
    "pictures in links": _html(b"<a href=http://x.example/><img alt='hello there'></a>"),
    "long alternatives": _html(b"image1", b"<img alt='", b"'>"),
    "attributes": _html(b" a", b"<p", b">x"),
    "different attributes": _numbered(b" a#", before=b"<p", after=b">x"),
    "styles": _html(b"<p style='color:red;display:block;'>a"),
    "one long style": _html(b"color:red;", b"<p style='", b"'>a"),
    "style comments": _html(b"/*", b"<p style='", b"'>a"),
    "style escapes": _html(b"\\41 ", b"<p style='", b"'>a"),
    "digits": _html(b"9", b"<p style='font-size:", b"'>a"),
    "digits in a colour": _html(b"9", b"<p style='color:rgb(", b",0,0)'>a"),
    "points": _html(b"9.", b"<p style='font-size:", b"'>a"),
    "open functions": _html(b"rgb(", b"<p style='color:", b"'>a"),
    "words in a colour": _html(b"a ", b"<p style='color:", b"'>a"),
    "rules": _style(b".a{color:red}"),
    "different rules": _numbered(b".a#{color:red}", before=b"<style>", after=b"</style><p class=a1>x"),
    "rules and elements": lambda size: (
        b"Content-Type: text/html\r\n\r\n<style>"
        + _times(b".a div{color:red}", _SHEET)
        + b"</style>"
        + _times(b"<div class=a>", size // 2)
    ),
    "deep selectors": _style(b"div ", b"", b".a{color:red}"),
    "long selectors": _style(b".a,", b"", b".a{color:red}"),
    "negated selectors": _style(b":not(", b"", b"{color:red}"),
    "descendants of descendants": lambda size: (
        b"Content-Type: text/html\r\n\r\n<style>"
        + _times(b"div " * 200 + b"p{color:red}", _SHEET)
        + b"</style>"
        + _times(b"<div>", size // 2)
    ),
    "siblings of siblings": lambda size: (
        b"Content-Type: text/html\r\n\r\n<style>"
        + _times(b"p~" * 200 + b"b{color:red}", _SHEET)
        + b"</style>"
        + _times(b"<p>", size // 2)
    ),
    "last children": lambda size: (
        b"Content-Type: text/html\r\n\r\n<style>"
        + _times(b"p:nth-last-child(2n+1){color:red}", _SHEET)
        + b"</style>"
        + _times(b"<p>", size // 2)
    ),
    "braces": _style(b"{"),
    "closed braces": _style(b"}"),
    "media": _style(b"@media screen{", b"", b".a{color:red}"),
    "media and rules": _style(b"@media screen{.a{color:red}"),
    "comments in a sheet": _style(b"/*"),
    "stars in a sheet": _style(b"*", b"/*"),
    "widths": _style(b"min-width:9", b"@media ", b"{.a{color:red}}"),
    "statements in a sheet": _style(b"a;"),
    "strings in a sheet": _style(b'\\"', b'.a{b:"'),
    "addresses in a sheet": _style(b"url( "),
    "rules within rules": _style(b".a{", b"", b"color:red"),
    "rules within a long list": lambda size: (
        b"Content-Type: text/html\r\n\r\n<style>"
        + _times(b".a,", size // 2)
        + b".a{"
        + _times(b"b{color:red}", size // 2)
        + b"}</style><p class=a>x"
    ),
    "a long list of many declarations": lambda size: (
        b"Content-Type: text/html\r\n\r\n<style>"
        + _times(b".a,", size // 2)
        + b".a{"
        + _times(b"top:0;", size // 2)
        + b"}</style><p class=a>x"
    ),
    "brackets in media": _style(b"(", b"@media ", b"{.a{color:red}}"),
    "many media": _style(b"@media (((((width)))))" + b"{.a{color:red}}"),
    "animations": _style(b"@keyframes a{top:0}"),
    "different variables": _numbered(b"--a#:b;", before=b"<div style='", after=b"'><p style='--b:c'>x"),
    "variables of variables": _html(b"var(--a)", b"<p style='--a:var(--b)var(--b);--b:var(--a)var(--a);color:", b"'>x"),
    "variables on elements": _html(b"<p style='--a:b;color:var(--a)'>a"),
    "boxes within boxes": _nested(b"<div style='overflow:hidden;height:20px'>a", b"</div>"),
    "boxes over boxes": _html(b"<div style='position:absolute;top:0;width:9px;height:9px;background:#fff'>a</div>"),
    "doubtful": _html(b"<p style='filter:invert(1)'>a"),
    "moved": _html(b"translate(1px)", b"<p style='transform:", b"'>a"),
    "sums": _html(b"1px + ", b"<p style='width:calc(", b"1px)'>a"),
    "gradients": _html(b"red,", b"<p style='background:linear-gradient(", b"red)'>a"),
    "brackets in a background": _html(b"(", b"<p style='background:", b"'>a"),
    "orders in comments": _html(b"ignor", b"<!-- ", b" -->"),
    "orders to many": _html(b"<!-- assistant must must must run -->"),
    "pictures in one link": _html(b"<img src=a>", b"<a href=http://x.example/>", b"</a>"),
    "style elements": _html(b"<style>.a{color:red}</style>"),
    "comments": _html(b"<!-- a -->"),
    "open comments": _html(b"<!--"),
    "conditional comments": _html(b"<!--[if mso]>a<![endif]-->"),
    "hidden": _html(b"<p hidden>a"),
    "hidden, nested": _nested(b"<div hidden>", b"</div>"),
    "gone, nested": _nested(b"<div style=display:none>a", b"</div>"),
    "scripts": _html(b"<script>a</script>"),
    "templates": _nested(b"<template>a", b"</template>"),
    "svg": _nested(b"<svg>", b"</svg>"),
    "mathematics": _nested(b"<math><mi>", b""),
    "entities": _html(b"&amp;"),
    "half entities": _html(b"&a"),
    "numbers of entities": _html(b"9", b"&#", b";"),
    "less-than": _html(b"<"),
    "tags without end": _html(b"<a "),
    "headings": _nested(b"<h1>", b""),
    "paragraphs": _html(b"<p>a"),
    "letters reversed": _html(b"<i>&#8238;ab</i>"),
    "elements within reversed ones": _nested(b"<i>&#8238;ab", b"</i>"),
    "preformatted lines": _html(b"a\n", b"<pre>"),
    "preformatted returns": _html(b"&#13;", b"<pre>a"),
    "preformatted lines above a quote": _html(b"> \n", b"<pre>", b"</pre><blockquote type=cite>a</blockquote>"),
    "preformatted": _nested(b"<pre>", b"</pre>"),
    "code": _nested(b"<code>`", b"</code>"),
    "emphases": _nested(b"<em>*", b"</em>"),
    "rulers": _html(b"<hr>"),
    "breaks": _html(b"<br>"),
    "blank text": _html(b" ", b"<p>a", b"b"),
    "blanks between": _html(b"<p> </p>"),
    "frames": _html(b"<frameset>"),
    "selects": _nested(b"<select><option>", b""),
    "buttons": _nested(b"<button>", b""),
    "forms": _nested(b"<form><input>", b""),
    "ruby": _nested(b"<ruby><rt>", b""),
    "definitions": _nested(b"<dl><dt>a<dd>", b""),
    "details": _nested(b"<details><summary>", b""),
    "bodies": _html(b"<body a=b>"),
    "a long link": _html(b"a", b"<a href=http://", b">x</a>"),
    "a link of redirectors": _html(b"http://google.com/url?q=", b"<a href=", b">x</a>"),
    "a link with a query": _html(b"utm_a=b&", b"<a href=http://x.example/?", b">x</a>"),
    "a link of dots": _html(b".", b"<a href=http://", b">x</a>"),
    "a link with words of dots": _html(b"a.", b"<a href=http://x.example/>", b"</a>"),
    "a link of labels": _html(b"\xc3\xa4.", b"<a href=http://", b">a.b</a>"),
    "a link of colons": _html(b":9", b"<a href=http://x", b">a.b</a>"),
}

ALL: dict[str, Mail] = {
    f"{kind}: {name}": mail
    for kind, mails in (
        ("header", HEADERS),
        ("structure", STRUCTURE),
        ("encoding", ENCODINGS),
        ("text", TEXTS),
        ("html", HTML),
    )
    for name, mail in mails.items()
}


def in_base64(kind: bytes, content: bytes) -> bytes:
    head = b"Content-Type: " + kind + b"\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    return head + base64.encodebytes(content)
