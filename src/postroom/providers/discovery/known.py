"""The servers of the large providers, so that most people need no lookup at all.

One line each: the domains of its addresses, the IMAP server, the SMTP server, remarks. Ports are 993 and 465; one that
is given means STARTTLS unless ``/tls`` follows. A domain with a leading dot stands for every name below it, which is
how the mail exchangers (MX) of hosted domains are recognised. The remark `local` means that the username is the part
before the @; any other is the name of a note below, which also says whether the normal password works.
"""

from __future__ import annotations

from functools import cache

from postroom.providers.discovery.found import AuthKind, Found, Security, Server, Source

_TABLE = """
gmail.com googlemail.com .google.com .googlemail.com | imap.gmail.com | smtp.gmail.com | google
outlook.com hotmail.com live.com msn.com windowslive.com outlook.at outlook.be outlook.de outlook.dk outlook.es \
outlook.fr outlook.ie outlook.it outlook.jp outlook.pt outlook.co.id outlook.com.au outlook.com.br hotmail.be \
hotmail.ca hotmail.de hotmail.es hotmail.fr hotmail.it hotmail.nl hotmail.se hotmail.co.jp hotmail.co.uk \
hotmail.com.ar hotmail.com.br live.at live.be live.ca live.de live.dk live.fr live.ie live.it live.nl live.no live.se \
live.co.uk live.com.au .olc.protection.outlook.com | outlook.office365.com | smtp-mail.outlook.com:587 | microsoft
office365.com .onmicrosoft.com .mail.protection.outlook.com | outlook.office365.com | smtp.office365.com:587 | microsoft
yahoo.com yahoo.ca yahoo.de yahoo.it yahoo.fr yahoo.es yahoo.se yahoo.co.in yahoo.co.uk yahoo.co.nz yahoo.com.au \
yahoo.com.ar yahoo.com.br yahoo.com.mx ymail.com myyahoo.com rocketmail.com cox.net .yahoodns.net \
| imap.mail.yahoo.com | smtp.mail.yahoo.com | yahoo
aol.com aim.com netscape.net compuserve.com aol.de aol.fr aol.it aol.es aol.co.uk verizon.net \
| imap.aol.com | smtp.aol.com | aol
icloud.com me.com mac.com .mail.icloud.com | imap.mail.me.com | smtp.mail.me.com:587 | apple
fastmail.com fastmail.fm .messagingengine.com | imap.fastmail.com | smtp.fastmail.com | fastmail
proton.me protonmail.com protonmail.ch pm.me .protonmail.ch | 127.0.0.1:1143 | 127.0.0.1:1025 | proton
zoho.com zohomail.com .zoho.com | imap.zoho.com | smtp.zoho.com | zoho
zoho.eu zohomail.eu .zoho.eu | imap.zoho.eu | smtp.zoho.eu | zoho
zoho.in zohomail.in .zoho.in | imap.zoho.in | smtp.zoho.in | zoho
zoho.com.au zohomail.com.au .zoho.com.au | imap.zoho.com.au | smtp.zoho.com.au | zoho
zoho.jp zohomail.jp .zoho.jp | imap.zoho.jp | smtp.zoho.jp | zoho
gmx.net gmx.de gmx.at gmx.ch gmx.eu gmx.org gmx.info | imap.gmx.net | mail.gmx.net | switch
gmx.com gmx.us gmx.co.uk gmx.es gmx.fr gmx.it | imap.gmx.com | mail.gmx.com | switch
mail.com email.com usa.com post.com europe.com engineer.com consultant.com | imap.mail.com | smtp.mail.com | switch
web.de | imap.web.de | smtp.web.de | local switch
t-online.de magenta.de | secureimap.t-online.de | securesmtp.t-online.de | telekom
freenet.de | mx.freenet.de | mx.freenet.de:587
vodafonemail.de arcor.de kabelmail.de | imap.vodafonemail.de | smtp.vodafonemail.de
mailbox.org .mailbox.org | imap.mailbox.org | smtp.mailbox.org
posteo.de posteo.net posteo.at posteo.ch posteo.com .posteo.de | posteo.de | posteo.de
online.de onlinehome.de .kundenserver.de | imap.1und1.de | smtp.1und1.de
ionos.de .ionos.de | imap.ionos.de | smtp.ionos.de
ionos.com .ionos.com | imap.ionos.com | smtp.ionos.com
strato.de .rzone.de | imap.strato.de | smtp.strato.de
.your-server.de | mail.your-server.de | mail.your-server.de
.ispgateway.de | sslin.df.eu | sslout.df.eu
a1.net aon.at | securemail.a1.net | securemail.a1.net:587
bluewin.ch bluemail.ch | imaps.bluewin.ch | smtpauths.bluewin.ch
orange.fr wanadoo.fr | imap.orange.fr | smtp.orange.fr | switch
free.fr | imap.free.fr | smtp.free.fr | local
laposte.net | imap.laposte.net | smtp.laposte.net | local
sfr.fr neuf.fr club-internet.fr | imap.sfr.fr | smtp.sfr.fr
ovh.net .ovh.net | ssl0.ovh.net | ssl0.ovh.net
gandi.net .gandi.net | mail.gandi.net | mail.gandi.net
migadu.com .migadu.com | imap.migadu.com | smtp.migadu.com
runbox.com .runbox.com | mail.runbox.com | mail.runbox.com
kolabnow.com .kolabnow.com | imap.kolabnow.com | smtp.kolabnow.com:587
mailfence.com .mailfence.com | imap.mailfence.com | smtp.mailfence.com
telenet.be | imap.telenet.be | smtp.telenet.be:587
skynet.be proximus.be belgacom.net | imap.proximus.be | relay.proximus.be:587
ziggo.nl ziggomail.com home.nl upcmail.nl chello.nl casema.nl | imap.ziggo.nl | smtp.ziggo.nl:587
kpnmail.nl planet.nl xs4all.nl | imap.kpnmail.nl | smtp.kpnmail.nl
libero.it iol.it inwind.it blu.it giallo.it | imapmail.libero.it | smtp.libero.it | libero
virgilio.it | in.virgilio.it | out.virgilio.it
tim.it | imap.tim.it:143 | smtp.tim.it:587
alice.it | in.alice.it:143 | out.alice.it:587
tiscali.it | imap.tiscali.it | smtp.tiscali.it
sapo.pt | imap.sapo.pt | smtp.sapo.pt
btinternet.com btopenworld.com talk21.com | mail.btinternet.com | mail.btinternet.com
virginmedia.com | imap.virginmedia.com | smtp.virginmedia.com
sky.com | imap.tools.sky.com | smtp.tools.sky.com
one.com .one.com | imap.one.com | send.one.com
seznam.cz email.cz post.cz spoluzaci.cz | imap.seznam.cz | smtp.seznam.cz | seznam
wp.pl | imap.wp.pl | smtp.wp.pl | local switch
o2.pl go2.pl tlen.pl | poczta.o2.pl | poczta.o2.pl | local switch
onet.pl | imap.poczta.onet.pl | smtp.poczta.onet.pl
interia.pl interia.eu | poczta.interia.pl | poczta.interia.pl
inbox.lv | mail.inbox.lv | mail.inbox.lv | switch
yandex.ru yandex.com yandex.by yandex.kz ya.ru .yandex.net .yandex.ru | imap.yandex.com | smtp.yandex.com | yandex
mail.ru inbox.ru list.ru bk.ru | imap.mail.ru | smtp.mail.ru | mailru
rambler.ru | imap.rambler.ru | smtp.rambler.ru | switch
qq.com | imap.qq.com | smtp.qq.com | code
163.com | imap.163.com | smtp.163.com | code
126.com | imap.126.com | smtp.126.com | code
yeah.net | imap.yeah.net | smtp.yeah.net | code
naver.com | imap.naver.com | smtp.naver.com | switch
daum.net | imap.daum.net | smtp.daum.net | switch
comcast.net | imap.comcast.net | smtp.comcast.net | comcast
att.net sbcglobal.net bellsouth.net ameritech.net pacbell.net swbell.net flash.net prodigy.net \
| imap.mail.att.net | smtp.mail.att.net | att
charter.net spectrum.net | mobile.charter.net | mobile.charter.net:587/tls
earthlink.net mindspring.com | imap.earthlink.net | smtpauth.earthlink.net:587
bell.net sympatico.ca | imap.bell.net | smtphm.sympatico.ca:587
bigpond.com bigpond.net.au telstra.com | imap.telstra.com | smtp.telstra.com
xtra.co.nz | imap.xtra.co.nz | send.xtra.co.nz
uol.com.br | imap.uol.com.br | smtps.uol.com.br:587 | local
bol.com.br | imap.bol.com.br | smtps.bol.com.br | local
pobox.com | mail.pobox.com | smtp.pobox.com
.secureserver.net | imap.secureserver.net | smtpout.secureserver.net
.emailsrvr.com | secure.emailsrvr.com | secure.emailsrvr.com
privateemail.com .privateemail.com | mail.privateemail.com | mail.privateemail.com
"""

_APP = "requires an app password, not the account password; create one at"
_BRIDGE = "Proton Mail is reached through its Bridge, running on this machine, which"
_NOTES: dict[str, tuple[AuthKind, str]] = {
    "google": ("app-password", f"Google {_APP} https://myaccount.google.com/apppasswords (needs 2-step verification)."),
    "microsoft": ("oauth2", "Microsoft accepts only OAuth2 access tokens over IMAP and SMTP, no passwords."),
    "yahoo": ("app-password", f"Yahoo {_APP} https://login.yahoo.com/account/security."),
    "aol": ("app-password", f"AOL {_APP} https://login.aol.com/account/security."),
    "apple": ("app-password", f"Apple {_APP} https://account.apple.com under Sign-In and Security."),
    "fastmail": ("app-password", f"Fastmail {_APP} https://app.fastmail.com/settings/security."),
    "proton": ("app-password", f"{_BRIDGE} has its own password; export its certificate and pass it with --ca-file."),
    "zoho": ("password", "Enable IMAP access in Zoho's mail settings; with two-factor login, use an app password."),
    "switch": ("password", "IMAP access must be enabled in the webmail settings first."),
    "telekom": (
        "app-password",
        "Telekom requires the separate password for email programs, set in the customer centre under e-mail.",
    ),
    "libero": ("password", "With Libero's stronger login, create an app password in the account's security settings."),
    "seznam": ("password", "With two-step login, create an app password in Seznam's account settings."),
    "yandex": ("app-password", f"Yandex {_APP} https://id.yandex.com/security/app-passwords; enable IMAP too."),
    "mailru": ("app-password", f"Mail.ru {_APP} https://account.mail.ru/user/2-step-auth/passwords."),
    "code": ("app-password", "Enable IMAP in the webmail settings and use the authorisation code it shows."),
    "comcast": ("password", "Xfinity must allow third-party access: webmail, Settings, Security."),
    "att": ("app-password", "AT&T requires a secure mail key; create one in your profile's sign-in settings."),
}


def find_known(name: str, address: str, source: Source = "known") -> Found | None:
    """By an address's domain or a mail exchanger's name."""
    line = _line_of(name)
    if line is None:
        return None
    imap, smtp, remarks = line
    auth, note = next((_NOTES[remark] for remark in remarks if remark in _NOTES), ("password", ""))
    username = address.rpartition("@")[0] if "local" in remarks else address
    return Found(_server(imap, 993), _server(smtp, 465), auth, (username,), source, note)


def note_for(host: str) -> str:
    """What to know about logging in at this IMAP server; empty when it is not in the table."""
    for imap, _, remarks in _lines().values():
        if _server(imap, 993).host == host:
            return next((_NOTES[remark][1] for remark in remarks if remark in _NOTES), "")
    return ""


def known_names() -> tuple[str, ...]:
    return tuple(_lines())


def _line_of(name: str) -> tuple[str, str, tuple[str, ...]] | None:
    lines = _lines()
    if name in lines:
        return lines[name]
    labels = name.split(".")
    parents = (f".{'.'.join(labels[start:])}" for start in range(1, len(labels)))
    return next((lines[parent] for parent in parents if parent in lines), None)


@cache
def _lines() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    by_name = {}
    for line in _TABLE.strip().splitlines():
        domains, imap, smtp, *remarks = (field.strip() for field in line.split("|"))
        for domain in domains.split():
            by_name[domain] = (imap, smtp, tuple(" ".join(remarks).split()))
    return by_name


def _server(text: str, usual_port: int) -> Server:
    """``host``, ``host:port`` or ``host:port/security``."""
    place, _, security = text.partition("/")
    host, _, port = place.partition(":")
    usual: Security = "starttls" if port else "tls"
    return Server(host, int(port or usual_port), "tls" if security == "tls" else usual)
