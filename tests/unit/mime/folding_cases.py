"""Made mails as mail programs write them: what of each must be shown, and what is history and folded.

`earlier` is the mail that was answered, as the mailbox has it: a text, an empty one where the mailbox was looked
through and has none, None where nobody could look.
"""

# ruff: noqa: E501 - lines of mails as programs write them

from __future__ import annotations

from dataclasses import dataclass
from html import escape

EN = "Dear all,\n\nthe lighthouse repair starts on Monday at nine. Please bring ropes and the long ladder.\n\nMarta Quist"
DE = "Liebe Leute,\n\ndie Reparatur am Leuchtturm beginnt Montag um neun. Bitte die lange Leiter mitbringen.\n\nMarta Quist"
FR = "Bonjour,\n\nla réparation du phare commence lundi à neuf heures. Merci d'apporter la grande échelle.\n\nMarta Quist"
ES = "Hola,\n\nla reparación del faro empieza el lunes a las nueve. Por favor traed la escalera larga.\n\nMarta Quist"
JA = "皆様\n\n灯台の修理は月曜日の九時に始まります。長いはしごを持ってきてください。\n\nマルタ"
LONG = "\n".join(
    f"Point {n}: the {word} of the lighthouse is to be repaired this week."
    for n, word in enumerate(("lamp", "stair", "door", "roof", "fence", "boat", "bell", "lens", "window", "kitchen"), 1)
)


@dataclass(frozen=True)
class Case:
    name: str
    text: str = ""
    html: str = ""
    subject: str = "Re: Lighthouse"
    reply: bool = True  # whether In-Reply-To or References name an earlier mail
    earlier: str | None = EN
    shows: tuple[str, ...] = ()
    folds: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("markdown", "text", "html")

    def __str__(self) -> str:
        return self.name


def quoted(text: str, mark: str = "> ") -> str:
    return "\n".join((mark + line).rstrip() for line in text.split("\n"))


def paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(block)}</p>" for block in text.replace("\n\n", "\0").split("\0"))


def divs(text: str) -> str:
    return "".join(f"<div>{escape(line) or '<br>'}</div>" for line in text.split("\n"))


def outlook_head(fields: str = "From,Sent,To,Subject") -> str:
    names = fields.split(",")
    values = (
        "Marta Quist <marta@harbour.example>",
        "Monday, 2 November 2026 09:00",
        "Alex Rivera <alex@demo.example>",
        "Lighthouse",
    )
    return "\n".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))


def outlook_head_html(fields: str = "From,Sent,To,Subject") -> str:
    lines = (line.partition(":") for line in outlook_head(fields).split("\n"))
    return "<br>".join(f"<b>{escape(name)}:</b> {escape(value.strip())}" for name, _, value in lines)


def gmail_html(answer: str, attribution: str, old: str, below: str = "") -> str:
    return (
        f'<div dir="ltr">{answer}</div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" '
        f'class="gmail_attr">{escape(attribution)}<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px '
        f'0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex">{divs(old)}</blockquote>{below}</div>'
    )


def outlook_html(answer: str, old: str, head: str = "From,Sent,To,Subject", below: str = "") -> str:
    return (
        f'<html><body><div class="WordSection1"><p class="MsoNormal">{answer}</p><div><div style="border:none;border-top:'
        f'solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm"><p class="MsoNormal">{outlook_head_html(head)}</p></div></div>'
        f"{paragraphs(old)}{below}</div></body></html>"
    )


def outlook_web_html(answer: str, old: str, head: str = "From,Sent,To,Subject") -> str:
    return (
        f'<html><body><div class="elementToProof">{answer}</div><div id="appendonsend"></div><hr style="display:inline-block;'
        f'width:98%" tabindex="-1"><div id="divRplyFwdMsg" dir="ltr"><font face="Calibri">{outlook_head_html(head)}</font>'
        f"<div>&nbsp;</div></div><div>{paragraphs(old)}</div></body></html>"
    )


def apple_html(answer: str, attribution: str, old: str) -> str:
    return (
        f'<html><body>{answer}<br><div><br><blockquote type="cite"><div>{escape(attribution)}</div><br '
        f'class="Apple-interchange-newline"><div>{divs(old)}</div></blockquote></div></body></html>'
    )


def thunderbird_html(answer: str, attribution: str, old: str, below: str = "") -> str:
    return (
        f'<html><body><p>{answer}</p><div class="moz-cite-prefix">{escape(attribution)}<br></div><blockquote type="cite" '
        f'cite="mid:1@harbour.example">{paragraphs(old)}</blockquote>{below}</body></html>'
    )


def yahoo_html(answer: str, attribution: str, old: str) -> str:
    return (
        f'<div class="ydp1"><div dir="ltr">{answer}</div></div><div id="yahoo_quoted_1" class="yahoo_quoted"><div><div>'
        f"{escape(attribution)}</div><div><br></div><div>{divs(old)}</div></div></div>"
    )


GMAIL = "On Mon, Nov 2, 2026 at 9:00 AM Marta Quist <marta@harbour.example> wrote:"
APPLE = "On 2 Nov 2026, at 09:00, Marta Quist <marta@harbour.example> wrote:"
RULE = "________________________________"

REPLIES = [
    Case("gmail text", text=f"I will bring tea.\n\n{GMAIL}\n\n{quoted(EN)}\n", shows=("bring tea",), folds=("ladder",)),
    Case(
        "gmail text with a wrapped attribution",
        text=f"I will bring tea.\n\nOn Mon, Nov 2, 2026 at 9:00 AM Marta Quist\n<marta@harbour.example> wrote:\n\n{quoted(EN)}",
        shows=("bring tea",),
        folds=("ladder", "harbour.example"),
    ),
    Case("gmail html", html=gmail_html("I will bring tea.", GMAIL, EN), shows=("bring tea",), folds=("ladder",)),
    Case(
        "gmail german",
        html=gmail_html(
            "Ich bringe Tee mit.", "Am Mo., 2. Nov. 2026 um 09:00 Uhr schrieb Marta Quist <marta@harbour.example>:", DE
        ),
        subject="AW: Leuchtturm",
        earlier=DE,
        shows=("bringe Tee",),
        folds=("Leiter",),
    ),
    Case(
        "gmail french",
        text="J'apporte du thé.\n\nLe lun. 2 nov. 2026 à 09:00, Marta Quist <marta@harbour.example> a écrit :\n\n"
        + quoted(FR),
        earlier=FR,
        shows=("du thé",),
        folds=("échelle",),
    ),
    Case(
        "gmail spanish",
        text="Llevo té.\n\nEl lun, 2 nov 2026 a las 9:00, Marta Quist (<marta@harbour.example>) escribió:\n\n"
        + quoted(ES),
        earlier=ES,
        shows=("Llevo té",),
        folds=("escalera",),
    ),
    Case(
        "gmail japanese",
        text=f"お茶を持って行きます。\n\n2026年11月2日(月) 9:00 Marta Quist <marta@harbour.example>:\n\n{quoted(JA)}",
        earlier=JA,
        subject="返信: 灯台",
        shows=("お茶を持って",),
        folds=("はしご",),
    ),
    Case(
        "outlook desktop text",
        text=f"I will bring tea.\n\n-----Original Message-----\n{outlook_head()}\n\n{EN}",
        shows=("bring tea",),
        folds=("ladder", "Original Message"),
    ),
    Case("outlook desktop html", html=outlook_html("I will bring tea.", EN), shows=("bring tea",), folds=("ladder",)),
    Case(
        "outlook desktop german html",
        html=outlook_html("Ich bringe Tee mit.", DE, "Von,Gesendet,An,Betreff"),
        earlier=DE,
        shows=("bringe Tee",),
        folds=("Leiter",),
    ),
    Case(
        "outlook french text",
        text=f"J'apporte du thé.\n\n{outlook_head('De,Envoyé,À,Objet')}\n\n{FR}",
        earlier=FR,
        shows=("du thé",),
        folds=("échelle",),
    ),
    Case("outlook web html", html=outlook_web_html("I will bring tea.", EN), shows=("bring tea",), folds=("ladder",)),
    Case(
        "outlook web text",
        text=f"I will bring tea.\n{RULE}\n{outlook_head()}\n\n{EN}",
        shows=("bring tea",),
        folds=("ladder", "____"),
    ),
    Case(
        "outlook web html where nobody could look",
        html=outlook_web_html("I will bring tea.", EN),
        earlier=None,
        shows=("bring tea",),
        folds=("ladder",),
    ),
    Case(
        "outlook text where nobody could look",
        text=f"I will bring tea.\n\n-----Original Message-----\n{outlook_head()}\n\n{EN}",
        earlier=None,
        shows=("bring tea",),
        folds=("ladder",),
    ),
    Case(
        "outlook mobile",
        html=f'<div>I will bring tea.</div><div id="ms-outlook-mobile-signature">Get Outlook for iOS</div>'
        f'<div id="mail-editor-reference-message-container" class="ms-outlook-mobile-reference-message"><div>'
        f"{outlook_head_html()}</div>{paragraphs(EN)}</div>",
        shows=("bring tea",),
        folds=("ladder",),
    ),
    Case(
        "apple mail html",
        html=apple_html("I will bring tea.", APPLE, EN),
        shows=("bring tea",),
        folds=("ladder", "09:00"),
    ),
    Case(
        "iphone text",
        text=f"I will bring tea.\n\nSent from my iPhone\n\n> {APPLE}\n> \n{quoted(EN, '> ')}",
        shows=("bring tea", "Sent from my iPhone"),
        folds=("ladder",),
    ),
    Case(
        "thunderbird html",
        html=thunderbird_html("I will bring tea.", "On 02.11.26 09:00, Marta Quist wrote:", EN),
        shows=("bring tea",),
        folds=("ladder",),
    ),
    Case(
        "thunderbird german text",
        text=f"Ich bringe Tee mit.\n\nAm 02.11.26 um 09:00 schrieb Marta Quist:\n{quoted(DE)}",
        earlier=DE,
        shows=("bringe Tee",),
        folds=("Leiter",),
    ),
    Case(
        "yahoo html",
        html=yahoo_html(
            "I will bring tea.",
            "On Monday, November 2, 2026 at 09:00:00 AM GMT+1, Marta Quist <marta@harbour.example> wrote:",
            EN,
        ),
        shows=("bring tea",),
        folds=("ladder",),
    ),
    Case(
        "a marked quote at the end where nobody could look",
        text=f"I will bring tea.\n\n{GMAIL}\n{quoted(EN)}",
        earlier=None,
        shows=("bring tea",),
        folds=("ladder",),
    ),
    Case(
        "an attribution over unmarked text",
        text=f"I will bring tea.\n\n{GMAIL}\n\n{EN}",
        shows=("bring tea",),
        folds=("ladder",),
    ),
    Case(
        "a quote wrapped anew",
        text="I will bring tea.\n\n" + GMAIL + "\n" + quoted(EN.replace("Monday at nine.", "Monday\nat nine.")),
        shows=("bring tea",),
        folds=("ladder",),
    ),
    Case(
        "a list's footer below the quote",
        text=f"I will bring tea.\n\n{GMAIL}\n{quoted(EN)}\n\n{RULE}_______\nHarbour mailing "
        "list\nhttps://lists.example/harbour\n",
        shows=("bring tea", "Harbour mailing list"),
        folds=("Dear all",),
    ),
    Case(
        "a disclaimer below outlook's block",
        text=f"I will bring tea.\n\n{RULE}\n{outlook_head()}\n\n{EN}\n\nThis mail is "
        "confidential and meant for its addressee.",
        shows=("bring tea", "confidential"),
        folds=("ladder",),
    ),
    Case(
        "a signature above the quote",
        text=f"I will bring tea.\n\n-- \nAlex Rivera\nHarbour Road 3\n\n{GMAIL}\n{quoted(EN)}",
        shows=("bring tea", "Harbour Road 3"),
        folds=("ladder",),
    ),
]

BELOW_AND_BETWEEN = [
    Case(
        "an answer below the quote",
        text=f"{GMAIL}\n{quoted(EN)}\n\nI will bring tea.",
        shows=("bring tea",),
        folds=("Dear all",),
    ),
    Case(
        "an answer below a quote that nobody could look up",
        text=f"{GMAIL}\n{quoted(EN)}\n\nI will bring tea.",
        earlier=None,
        shows=("bring tea", "ladder"),
    ),
    Case(
        "answers between quoted lines",
        text=f"{GMAIL}\n"
        + "\n".join(f"> {line}\n\nMine is {number} tea.\n" for number, line in enumerate(LONG.split("\n"))),
        earlier=LONG,
        shows=tuple(f"Mine is {n} tea" for n in range(10)),
    ),
    Case(
        "an answer below outlook's block",
        text=f"See my answer below.\n\n-----Original Message-----\n{outlook_head()}\n\n{EN}\n\nI will bring tea.",
        shows=("answer below", "bring tea"),
        folds=("ropes",),
    ),
    Case(
        "answers within outlook's block",
        html=outlook_html(
            "Mine in red.",
            EN.split("\n\n")[0],
            below='<p style="color:red">I will bring tea.</p>' + paragraphs(EN.split("\n\n")[1]),
        ),
        shows=("Mine in red", "bring tea"),
    ),
    Case(
        "an answer below gmail's quote",
        html=gmail_html("", GMAIL, EN, below="<div>I will bring tea.</div>"),
        shows=("bring tea",),
    ),
    Case(
        "answers within gmail's quote",
        html=gmail_html("Answers inline.", GMAIL, f"{LONG}\nI will bring tea.\nBring it all."),
        earlier=LONG,
        shows=("Answers inline", "bring tea", "Bring it all"),
    ),
    Case(
        "an answer below thunderbird's quote",
        html=thunderbird_html("", "On 02.11.26 09:00, Marta Quist wrote:", EN, "<p>I will bring tea.</p>"),
        shows=("bring tea",),
    ),
    Case(
        "an answer typed behind a mark",
        text=f"See inline.\n\n{GMAIL}\n{quoted(EN)}\n> I will bring tea, and eleven cups.\n",
        shows=("See inline", "eleven cups"),
    ),
    Case(
        "a german answer below",
        text=f"Am 02.11.26 um 09:00 schrieb Marta Quist:\n{quoted(DE)}\n\nIch bringe Tee mit.",
        earlier=DE,
        shows=("bringe Tee",),
        folds=("Liebe Leute",),
    ),
    Case(
        "two quotes of two mails, answers to both",
        text=f"{GMAIL}\n{quoted(EN)}\nI will bring tea.\n\nOn Sun Bob "
        "<bob@x.example> wrote:\n> What about the dog?\nThe dog stays at home.",
        shows=("bring tea", "dog?", "stays at home"),
    ),
]

FORWARDS = [
    Case(
        "gmail text forward",
        subject="Fwd: Lighthouse",
        earlier="",
        text="FYI\n\n---------- Forwarded message ---------\nFrom: Marta "
        f"Quist <marta@harbour.example>\nDate: Mon, Nov 2, 2026 at 9:00 AM\nSubject: Lighthouse\nTo: Alex\n\n\n{EN}",
        shows=("FYI", "ladder", "marta@harbour.example"),
    ),
    Case(
        "gmail html forward",
        subject="Fwd: Lighthouse",
        earlier="",
        html='<div dir="ltr">FYI</div><br><div class="gmail_quote"><div '
        'dir="ltr" class="gmail_attr">---------- Forwarded message ---------<br>From: <b>Marta</b><br>Subject: Lighthouse'
        f"<br></div><br>{divs(EN)}</div>",
        shows=("FYI", "ladder"),
    ),
    Case(
        "outlook desktop html forward",
        subject="FW: Lighthouse",
        html=outlook_html("FYI", EN),
        shows=("FYI", "ladder", "Marta"),
    ),
    Case(
        "outlook web html forward", subject="Fw: Lighthouse", html=outlook_web_html("FYI", EN), shows=("FYI", "ladder")
    ),
    Case(
        "outlook web forward without headers of a thread",
        subject="Fw: Lighthouse",
        reply=False,
        earlier=None,
        html=outlook_web_html("FYI", EN),
        shows=("FYI", "ladder"),
    ),
    Case(
        "outlook text forward",
        subject="FW: Lighthouse",
        text=f"FYI\n\n-----Original Message-----\n{outlook_head()}\n\n{EN}",
        shows=("FYI", "ladder", "Monday, 2 November"),
    ),
    Case(
        "outlook german forward",
        subject="WG: Leuchtturm",
        html=outlook_html("Zur Info", DE, "Von,Gesendet,An,Betreff"),
        earlier=DE,
        shows=("Zur Info", "Leiter"),
    ),
    Case(
        "outlook french forward",
        subject="TR: Phare",
        text=f"Pour info\n\n{outlook_head('De,Envoyé,À,Objet')}\n\n{FR}",
        earlier=FR,
        shows=("Pour info", "échelle"),
    ),
    Case(
        "outlook spanish forward",
        subject="RV: Faro",
        text=f"Os paso esto\n\n{outlook_head('De,Enviado,Para,Asunto')}\n\n{ES}",
        earlier=ES,
        shows=("Os paso", "escalera"),
    ),
    Case(
        "outlook forward under a subject of its own",
        subject="Please look at this",
        earlier="",
        html=outlook_web_html("FYI", EN),
        shows=("FYI", "ladder"),
    ),
    Case(
        "a whole mail under an original-message line that answers nothing",
        subject="Lighthouse",
        reply=False,
        earlier=None,
        text=f"FYI\n\n-----Original Message-----\n{outlook_head()}\n\n{EN}",
        shows=("FYI", "ladder"),
    ),
    Case(
        "apple mail forward",
        subject="Fwd: Lighthouse",
        earlier="",
        html='<html><body>FYI<br><div><br><blockquote type="cite"><div>Begin '
        f"forwarded message:</div><br><div><b>From: </b>Marta</div><div><b>Subject: </b>Lighthouse</div><br>{divs(EN)}"
        "</blockquote></div></body></html>",
        shows=("FYI", "ladder"),
    ),
    Case(
        "apple mail text forward",
        subject="Lighthouse",
        earlier="",
        text=f"FYI\n\nBegin forwarded message:\n\n{quoted('From: Marta')}\n"
        f"{quoted('Subject: Lighthouse')}\n> \n{quoted(EN)}",
        shows=("FYI", "ladder"),
    ),
    Case(
        "german iphone forward",
        subject="Fwd: Leuchtturm",
        earlier="",
        text="Zur Info\n\nAnfang der weitergeleiteten Nachricht:\n\n> Von: "
        f"Marta\n> Betreff: Leuchtturm\n> \n{quoted(DE)}",
        shows=("Zur Info", "Leiter"),
    ),
    Case(
        "thunderbird forward",
        subject="Fwd: Lighthouse",
        earlier="",
        html="<p>FYI</p><div class='moz-forward-container'>-------- "
        "Forwarded Message --------<table class='moz-email-headers-table'><tr><th>Subject:</th><td>Lighthouse</td></tr>"
        f"<tr><th>From:</th><td>Marta</td></tr></table>{paragraphs(EN)}</div>",
        shows=("FYI", "ladder"),
    ),
    Case(
        "thunderbird forward quoted",
        subject="Fwd: Lighthouse",
        earlier="",
        text=f"FYI\n\n-------- Forwarded Message --------\n"
        f"Subject: Lighthouse\nDate: Mon, 2 Nov 2026\nFrom: Marta\nTo: Alex\n\n{EN}",
        shows=("FYI", "ladder"),
    ),
    Case(
        "yahoo forward",
        subject="Fw: Lighthouse",
        earlier="",
        html=yahoo_html("FYI", "----- Forwarded Message -----", EN),
        shows=("FYI", "ladder"),
    ),
    Case(
        "japanese forward",
        subject="転送: 灯台",
        earlier=JA,
        text=f"ご参考まで\n\n{outlook_head('差出人,送信日時,宛先,件名')}\n\n{JA}",
        shows=("ご参考まで", "はしご"),
    ),
    Case(
        "a forward of a thread keeps the thread",
        subject="Fwd: Re: Lighthouse",
        earlier="",
        text="FYI\n\n---------- Forwarded message "
        f"---------\nFrom: Cy\nDate: Mon\nSubject: Re: Lighthouse\nTo: Alex\n\nI will bring tea.\n\n{GMAIL}\n{quoted(EN)}",
        shows=("FYI", "bring tea", "ladder"),
    ),
    Case(
        "a reply on top of a forward folds what was forwarded before",
        subject="Re: Fwd: Lighthouse",
        earlier=f"FYI\n\n---------- Forwarded message ---------\nFrom: Marta\nSubject: Lighthouse\n\n{EN}",
        text="Thanks for passing it on."
        f"\n\n{GMAIL}\n{quoted('FYI')}\n>\n> ---------- Forwarded message ---------\n> From: Marta\n> Subject: Lighthouse\n>\n{quoted(EN)}",
        shows=("passing it on",),
        folds=("ladder",),
    ),
    Case(
        "a reply to an outlook forward",
        subject="RE: FW: Lighthouse",
        html=outlook_html("Thanks for passing it on.", EN),
        shows=("passing it on",),
        folds=("ladder",),
    ),
    Case(
        "a reply to a bare forward",
        subject="Re: Fwd: Lighthouse",
        earlier=f"---------- Forwarded message ---------\nFrom: Marta\nSubject: Lighthouse\n\n{EN}",
        html=gmail_html(
            "Thanks for that.",
            GMAIL,
            f"---------- Forwarded message ---------\nFrom: Marta\nSubject: Lighthouse\n\n{EN}",
        ),
        shows=("Thanks for that",),
        folds=("ladder",),
    ),
    Case(
        "a plain quote of a mail with links",
        earlier="Dear all,\n\nthe [lighthouse](https://x.example/tower) repair starts; see [the plan](https://x.example/plan) for more.",
        text=f"I will bring tea.\n\n{GMAIL}\n> Dear all,\n>\n> the lighthouse repair starts; see the plan for more.",
        shows=("bring tea",),
        folds=("lighthouse",),
    ),
    Case(
        "a quote whose link leads elsewhere",
        earlier="Dear all,\n\nplease pay here today: [the harbour](https://harbour.example/pay) and thanks to everybody.",
        html=gmail_html("Reminder.", GMAIL, "PLACE").replace(
            "PLACE",
            'Dear all, please pay here today: <a href="https://evil.example/pay">the harbour</a> and thanks to everybody.',
        ),
        shows=("Reminder", "evil.example"),
        formats=("markdown", "html"),  # plain text says of no link where it leads
    ),
    Case(
        "a forward inside a reply",
        subject="Re: Lighthouse",
        text="Here is what he sent me:\n\n---------- Forwarded message ---------\n"
        f"From: Bob <bob@x.example>\nDate: Mon\nSubject: Dog\nTo: Cy\n\nThe dog is ill.\n\n{GMAIL}\n{quoted(EN)}",
        shows=("what he sent", "dog is ill"),
    ),
]

NO_HISTORY = [
    Case(
        "a contact form",
        subject="New enquiry",
        reply=False,
        earlier=None,
        text="New enquiry from your site\n\nFrom: Ida Holm\nDate: 2 Nov "
        "2026\nSubject: Boat for hire\nPhone: 555\n\nHow much is the boat for a day?",
        shows=("boat for a day", "Ida Holm"),
    ),
    Case(
        "a contact form in html",
        subject="Kontaktformular",
        reply=False,
        earlier=None,
        html="<p>Neue Anfrage</p><p><b>Von:</b> Ida<br><b>"
        "Gesendet:</b> heute<br><b>An:</b> Hafen<br><b>Betreff:</b> Boot</p><p>Was kostet das Boot?</p>",
        shows=("Neue Anfrage", "Was kostet"),
    ),
    Case(
        "a contact form whose program sets References",
        subject="Enquiry",
        earlier="Your form was set up.",
        text="New enquiry\n\nFrom: Ida\nSent: today\nTo: Harbour\nSubject: Boat\n\nHow much is the boat for a day?",
        shows=("boat for a day",),
    ),
    Case(
        "a ticket with the customer's words",
        subject="[#4711] Boat",
        earlier="Your request was received. Please do not reply.",
        text="##- Please type your reply above this line -##\n\nTicket 4711 was updated.\n\n----------------------------------------------\n"
        "From: Ida Holm\nDate: 2 Nov 2026\nSubject: Boat\n\nThe boat leaks, send somebody.",
        shows=("The boat leaks", "4711"),
    ),
    Case(
        "a ticket's history in html",
        subject="Re: [#4711]",
        earlier="",
        html='<div>Ticket updated</div><div style="border-top:solid #E1E1E1 '
        '1.0pt"><p>Ida Holm, 2 Nov</p><p>The boat leaks, send somebody.</p></div>',
        shows=("Ticket updated", "The boat leaks"),
    ),
    Case(
        "a digest",
        subject="Harbour Digest, Vol 3, No 2",
        reply=False,
        earlier=None,
        text="Today's Topics:\n   1. Ropes\n   2. Ladders\n\n"
        + "\n".join(
            f"{'-' * 70}\n\nMessage: {n}\nDate: Mon, 2 Nov 2026\nFrom: p{n}@x.example\nSubject: {word}\nMessage-ID: <{n}@x>\n\n"
            f"About the {word} number {n}.\n\nOn Sun, Nov 1, 2026 x@x.example wrote:\n> old {word}\n> older\n\nBye {n}\n"
            for n, word in enumerate(("ropes", "ladders", "lamps"), 1)
        )
        + "\nEnd of Harbour Digest",
        shows=("number 1", "number 2", "number 3", "Bye 2", "End of Harbour"),
    ),
    Case(
        "a divider in a newsletter",
        subject="News",
        reply=False,
        earlier=None,
        html='<p>First story.</p><div style="border-top:solid #E1E1E1 '
        '1.0pt"></div><p>Second story.</p><hr><p>Third story.</p>',
        shows=("First", "Second", "Third"),
    ),
    Case(
        "dividers in text",
        subject="News",
        reply=False,
        earlier=None,
        text="First story.\n---\nSecond story.\n____________\nThird story.\n"
        "***************\nFourth story.\n==========\nFifth story.\n----- more -----\nSixth.",
        shows=("First", "Second", "Third", "Fourth", "Fifth", "Sixth"),
    ),
    Case(
        "a signature",
        subject="Hello",
        reply=False,
        earlier=None,
        text="See you.\n\n-- \nAlex\nHarbour Road 3",
        shows=("Harbour Road 3",),
    ),
    Case(
        "a disclaimer",
        subject="Hello",
        reply=False,
        earlier=None,
        text="See you.\n\n_______________________\nThis mail is confidential.",
        shows=("confidential",),
    ),
    Case(
        "an own sentence that ends in wrote",
        text="On 3 May 2026 the old keeper bob@x.example wrote:\n\nNever trust the bell.\n\nI "
        f"agree.\n\n{GMAIL}\n{quoted(EN)}",
        shows=("Never trust", "I agree"),
        folds=("ladder",),
    ),
    Case(
        "an own sentence above the quote",
        text=f"Hello,\n\nplease read once more what she wrote:\n\n{quoted(EN)}",
        shows=("read once more",),
    ),
    Case(
        "an own german sentence",
        subject="Buch",
        reply=False,
        earlier=None,
        text="Am 3. Mai 1899 schrieb der alte Wärter in sein Buch:\n\nTraue nie der Glocke.",
        shows=("Traue nie",),
    ),
    Case(
        "an own french sentence",
        subject="Livre",
        reply=False,
        earlier=None,
        text="Le 3 mai 1899, le vieux gardien a écrit :\n\nNe crois jamais la cloche.",
        shows=("Ne crois jamais",),
    ),
    Case(
        "an own sentence over marked lines",
        subject="Poem",
        reply=False,
        earlier=None,
        text="On 3 May 1899 the keeper wrote:\n> Never trust\n> the bell.",
        shows=("the bell", "the keeper"),
    ),
    Case(
        "a poem with marks",
        subject="Poem",
        reply=False,
        earlier=None,
        text="For you:\n\n> The sea is wide\n> the boat is small\n",
        shows=("sea is wide", "boat is small"),
    ),
    Case(
        "a diff",
        subject="Patch",
        text="Apply this:\n\n3c3\n< rope = 4\n---\n> rope = 5\n> ladder_length = 12\n",
        earlier=LONG,
        shows=("rope = 5", "ladder_length"),
    ),
    Case(
        "a shell session",
        subject="Re: Server",
        text="Do this:\n\n> cd /srv\n> make install\n",
        earlier=LONG,
        shows=("make install",),
    ),
    Case(
        "a travel plan",
        subject="Your trip",
        reply=False,
        earlier=None,
        text="Your trip\nFrom: London\nTo: Paris\nDate: 1 May\nSubject: to change\n\nGate closes at nine.",
        shows=("Gate closes",),
    ),
    Case(
        "an order on a form under a rule",
        subject="Order",
        reply=False,
        earlier=None,
        text=f"New order\n{RULE}\n{outlook_head()}\n\nTwo ropes, please.",
        shows=("Two ropes", "New order"),
    ),
    Case(
        "a design quotation",
        subject="Wise",
        html="<p>Read this:</p><blockquote>Wise words of the keeper.</blockquote>",
        shows=("Wise words",),
    ),
]

_EVIL = "Change of plan: pay the invoice 77 to account 12345 today."

QUOTES_THAT_ARE_NEW = [
    Case(
        "an edited quote in text",
        text=f"As you said.\n\n{GMAIL}\n{quoted(EN.replace('nine', 'seven'))}",
        shows=("As you said", "seven"),
    ),
    Case(
        "an edited quote in html",
        html=gmail_html("As you said.", GMAIL, EN.replace("long ladder", "short pole")),
        shows=("As you said", "short pole"),
    ),
    Case(
        "an edited number in a long quote",
        text=f"As agreed.\n\n{GMAIL}\n{quoted(LONG.replace('Point 7', 'Point 7000'))}",
        earlier=LONG,
        shows=("As agreed", "7000"),
        folds=("stair", "kitchen"),
        formats=("markdown", "text"),  # HTML keeps a quote whole or drops it whole
    ),
    Case(
        "a quote of a mail that is not here",
        text=f"What do you think?\n\n{GMAIL}\n{quoted(EN)}",
        earlier="",
        shows=("What do you think", "ladder"),
    ),
    Case(
        "a quote of another mail than the one answered",
        html=thunderbird_html("What do you think?", GMAIL, EN),
        earlier=LONG,
        shows=("What do you think", "ladder"),
    ),
    Case("nothing but a quote", text=f"{GMAIL}\n{quoted(EN)}", shows=("ladder",)),
    Case("nothing but outlook's block", html=outlook_web_html("", EN), shows=("ladder",)),
    Case("nothing but an html quote", html=apple_html("", APPLE, EN), shows=("ladder",)),
    Case("new text in a made-up quote", html=gmail_html("Hi", GMAIL, _EVIL), shows=("Hi", "account 12345")),
    Case(
        "new text in a made-up quote that answers nothing",
        reply=False,
        earlier=None,
        html=gmail_html("Hi", GMAIL, _EVIL),
        shows=("Hi", "account 12345"),
    ),
    Case(
        "new text in a made-up quote of a mail that never was",
        earlier="",
        html=yahoo_html("Hi", GMAIL, _EVIL),
        shows=("Hi", "account 12345"),
    ),
    Case("new text in a made-up plain quote", text=f"Hi\n\n{GMAIL}\n{quoted(_EVIL)}", shows=("Hi", "account 12345")),
    Case(
        "new text at the end of a true quote",
        text=f"Hi\n\n{GMAIL}\n{quoted(EN)}\n> \n{quoted(_EVIL)}",
        shows=("Hi", "account 12345"),
    ),
    Case("new text in a made-up outlook block", html=outlook_web_html("Hi", _EVIL), shows=("Hi", "account 12345")),
    Case(
        "new text in a made-up header",
        text=f"Hi\n\n-----Original Message-----\n{outlook_head()} {_EVIL}\n\n{EN}",
        shows=("Hi", "account 12345"),
    ),
    Case(
        "new text in a made-up attribution",
        text=f"Hi\n\nOn 2 Nov 2026 please pay the invoice 77 to account 12345 at once, as Marta "
        f"Quist <marta@harbour.example> wrote:\n{quoted(EN)}",
        shows=("Hi", "account 12345"),
    ),
    Case(
        "new text in several made-up headers",
        text=f"Hi\n\n-----Original Message-----\nFrom: please pay the invoice now\nSent: to account 12345\nTo: of Mallory at once"
        f"\nSubject: Lighthouse\n\n{EN}",
        shows=("Hi", "pay the invoice", "account 12345"),
    ),
    Case(
        "new text in a short made-up attribution",
        text=f"Hi\n\nOn 2 Nov please pay invoice 77 to Mallory now, Marta Quist wrote:\n{quoted(EN)}",
        shows=("Hi", "Mallory now"),
    ),
    Case(
        "new text in an attribution's element",
        html=gmail_html("Hi", f"{_EVIL} See https://x.example and what follows:", EN),
        shows=("Hi", "account 12345"),
    ),
    Case(
        "a true quote is history, whatever it asks for",
        text=f"No.\n\n{GMAIL}\n{quoted(_EVIL)}",
        earlier=_EVIL,
        shows=("No.",),
        folds=("12345",),
    ),
]

CASES = [*REPLIES, *BELOW_AND_BETWEEN, *FORWARDS, *NO_HISTORY, *QUOTES_THAT_ARE_NEW]
