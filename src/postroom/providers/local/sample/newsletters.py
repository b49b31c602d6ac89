"""HTML newsletters as marketing tools really send them: table layout, tracked links, a hidden preheader, a pixel."""
# ruff: noqa: E501 - a paragraph of a mail is one line, as its author typed it

from __future__ import annotations

from hashlib import sha256

from postroom.providers.local.sample.issues import SERIES, Series, Story
from postroom.providers.local.sample.letters import Letter


def letters() -> list[Letter]:
    return [_issue(series, place, *issue) for series in SERIES for place, issue in enumerate(series.issues)]


def _issue(series: Series, place: int, title: str, stories: tuple[Story, ...]) -> Letter:
    host = series.sender.domain
    key = f"{series.key}-{len(series.issues) - place}"
    return Letter(
        key=key,
        sender=series.sender,
        to=series.readers[:1],
        cc=series.readers[1:],
        subject=title,
        text="\n\n".join(f"{headline}\n{words}\nhttps://{host}/{key}" for headline, words in stories),
        html=_page(key, host, title, stories),
        days_ago=series.newest + place * series.every,
        headers=(
            ("List-Id", f"<news.{host}>"),
            (
                "List-Unsubscribe",
                f"<mailto:{series.sender.email}?subject=unsubscribe>, <https://{host}/unsubscribe?u={_token(key, 24)}>",
            ),
            ("Precedence", "bulk"),
        ),
        labels=("newsletters",),
        unread=place == 0 or place % 3 == 1,
    )


def _page(key: str, host: str, title: str, stories: tuple[Story, ...]) -> str:
    blocks = "".join(_block(f"{key}-{place}", host, *story) for place, story in enumerate(stories))
    return (
        '<!DOCTYPE html><html><head><meta charset="utf-8"><title>' + title + "</title>" + _STYLE + "</head>"
        '<body style="margin:0;padding:0;background-color:#f2f2f0">'
        f'<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">{stories[0][1]}{"&#847;&zwnj;&nbsp;" * 30}</div>'
        '<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">'
        '<table role="presentation" width="600" class="sheet" cellpadding="0" cellspacing="0">'
        f'<tr><td class="pad"><h1>{title}</h1></td></tr>{blocks}'
        '<tr><td class="pad foot">You get this mail because you subscribed. '
        f'<a href="https://{host}/unsubscribe?u={_token(key, 40)}">Unsubscribe</a> &middot; '
        f'<a href="https://{host}/browser/{key}">View in browser</a></td></tr></table></td></tr></table>'
        f'<img src="https://open.{host}/o/{_token(key, 40)}.gif" width="1" height="1" alt=""></body></html>'
    )


def _block(key: str, host: str, headline: str, words: str) -> str:
    link = f"https://click.{host}/ls/click?upn={_token(key, 60)}&amp;utm_source=newsletter&amp;utm_campaign={_token(key, 8)}"
    return (
        '<tr><td class="pad"><table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr>'
        f'<td style="padding:12px 24px"><a href="{link}"><img src="https://img.{host}/{_token(key, 16)}.jpg" width="552" '
        f'alt="{headline}" style="display:block;width:100%;max-width:552px"></a><h2>{headline}</h2><p>{words}</p>'
        f'<p><a class="button" href="{link}">Read more</a></p></td></tr></table></td></tr>'
    )


def _token(key: str, length: int) -> str:
    return sha256(key.encode()).hexdigest()[:length].ljust(length, "0")


_STYLE = (
    "<style>body,table,td{font-family:Helvetica,Arial,sans-serif;color:#333}h1{font-size:26px}h2{font-size:19px}"
    ".sheet{background:#fff;max-width:600px}.pad{padding:16px 24px}.foot{font-size:11px;color:#888}"
    ".button{background:#1d6f5c;border-radius:4px;color:#fff;display:inline-block;padding:12px 20px;text-decoration:none}"
    "@media (max-width:620px){.sheet{width:100%!important}}</style>"
)
