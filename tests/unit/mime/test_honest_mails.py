"""Mails as shops, airlines and offices send them hide a lot, cut a lot and lie over nothing: no mark, no warning."""

from __future__ import annotations

import pytest

from postroom.mime.html.doubts import DOUBT_OPENS
from postroom.mime.render import render
from postroom.model.message import Body

SHOP = """<!DOCTYPE html><html xmlns:v="urn:schemas-microsoft-com:vml"><head><title>Shop</title>
<!--[if mso]><xml><o:PixelsPerInch>96</o:PixelsPerInch></xml><![endif]-->
<style>:root{color-scheme:light dark;--ink:#2a2a2a} body{margin:0;background:#eef1f4} .phone{display:none;mso-hide:all}
h1{font-size:28px;color:var(--ink)} u + .body .gmail{display:none} [data-ogsc] .x{color:#fff} #outlook a{padding:0}
@media only screen and (max-width:480px){.phone{display:block!important} .desk{display:none!important}}
@media (prefers-color-scheme:dark){td{color:#eee!important} body{background:#111!important}}</style></head>
<body class=body><div style="display:none;font-size:1px;color:#eef1f4;max-height:0;opacity:0;overflow:hidden">
PREHEADER &#847; &zwnj; &nbsp; &#847; &zwnj; &nbsp;</div>
<table width=100% bgcolor=#eef1f4><tr><td style="font-size:0;line-height:0">
<img src=o.gif width=1 height=1 alt=""></td></tr>
<tr><td><table width=600 bgcolor=#ffffff><tr><td bgcolor=#12344d style="padding:24px">
<h1 style="color:#fff">SEEN</h1></td></tr>
<tr><td><!--[if mso]><v:roundrect style="height:44px"><center>BUTTON</center></v:roundrect><![endif]-->
<a href="https://shop.example/a" style="background:#c2410c;color:#fff;display:inline-block;line-height:44px;height:44px;
overflow:hidden;width:220px">SEEN</a></td></tr><tr class=desk><td>SEEN</td></tr>
<tr class=phone><td>PHONE</td></tr><tr><td style="font-size:11px;color:#8a8a8a">SEEN</td></tr></table>
</td></tr></table>"""

NEWS = """<!doctype html><style>body{background:linear-gradient(#f6f2ea,#fff)}
.card{background:#fff;border-radius:12px;box-shadow:0 2px 8px rgba(0,0,0,.12), inset 0 1px 0 #eee;overflow:hidden}
.badge{position:relative;top:-2px;background:#e11;color:#fff;padding:1px 7px} .btn:hover{opacity:.8}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)}
li{position:relative;padding-left:14px} li::before{content:"";position:absolute;left:0;top:6px;width:8px;height:8px;
background:#e11} p::first-line{font-weight:bold;color:#036}</style><span class=unseen>PREHEADER</span>
<div class=card><div style="background:#0f172a url(cid:bg) center/cover;color:#f8fafc;padding:30px">
<span class=badge>SEEN</span></div><div style="font-size:0"><div style="display:inline-block;width:48%;font-size:16px">
<p style="max-height:200px;overflow:hidden;text-overflow:ellipsis">SEEN</p></div></div><ul><li>SEEN<li>SEEN</ul>
<div style="max-height:320px;overflow:hidden"><img src=x height=300 style="display:block"><p>SEEN</p></div>
<p style="opacity:.7;font-size:calc(10px + .2vw);transform:translateZ(0)">SEEN</p></div>"""

CODE = """<body bgcolor=#222222 text=#dddddd link=#88ccff><table align=center width=480 bgcolor=#333333><tr>
<td height=60><font size=4 color=#ffffff>SEEN</font>
<p style='font:bold 32px monospace;letter-spacing:6px;color:#fff'>SEEN</p>
<details open><summary>SEEN</summary>SEEN</details><p style='font-size:x-small;color:#999'>SEEN</p></td></tr></table>"""


@pytest.mark.parametrize("html", [SHOP, NEWS, CODE], ids=["shop", "news", "code"])
def test_an_honest_mail_shows_what_is_seen_without_a_mark_or_a_warning(html: str) -> None:
    rendered = render(Body(html=html), fmt="markdown", keep_quoted=False)
    assert rendered.text.count("SEEN") == html.count("SEEN")
    assert not any(word in rendered.text for word in ("PREHEADER", "PHONE", "BUTTON", DOUBT_OPENS))
    assert rendered.warnings == rendered.defects == ()
