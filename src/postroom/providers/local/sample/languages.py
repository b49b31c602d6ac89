"""Mail from all over, in the charsets their programs still use."""

from __future__ import annotations

from postroom.providers.local.sample.files import csv, pdf
from postroom.providers.local.sample.letters import Letter, Turn, conversation
from postroom.providers.local.sample.people import ALEX, CLAIRE, DMITRI, JONAS, LUCIA, OMAR, SAM, WEI, YUKI


def letters() -> list[Letter]:
    return [*_conversations(), *_single()]


def _conversations() -> list[Letter]:
    return [
        *conversation(
            "yuki-invoice",
            "請求書の件",
            11,
            [
                Turn(
                    YUKI,
                    "アレックス様\n\nいつもお世話になっております。\n今月の請求書を添付いたします。ご確認をお願いします。\n\n田中由紀\n株式会社ホシゾラ",
                    files=(pdf("請求書-2026.pdf", "Hoshizora K.K.", "Invoice 2026-031", "JPY 84,000"),),
                ),
                Turn(ALEX, "田中様\n\n請求書を受け取りました。今週お支払いします。\n\nアレックス", 20),
                Turn(YUKI, "ご入金を確認しました。ありがとうございました。\n\n田中", 70),
            ],
            folder="請求書",
            labels=("receipts",),
            charset="iso-2022-jp",
        ),
        *conversation(
            "claire-labels",
            "Étiquettes pour la boîte",
            29,
            [
                Turn(
                    CLAIRE,
                    "Bonjour Alex,\n\nvoici les étiquettes françaises. J'ai remplacé « à vie » par « cinq ans », "
                    "c'est plus prudent.\n\nÀ bientôt\nClaire",
                    files=(csv("étiquettes.csv", "clé;texte", "garantie;cinq ans", "température;-10 à 40 °C"),),
                ),
                Turn(ALEX, "Merci Claire, c'est parfait. On imprime lundi.\n\nAlex", 5),
            ],
            labels=("aurora",),
            charset="iso-8859-1",
        ),
        *conversation(
            "lucia-lisboa",
            "Viaje a Lisboa: propuesta",
            86,
            [
                Turn(
                    LUCIA,
                    "Hola Alex:\n\nte propongo el tren nocturno y cuatro noches en Alfama. El desayuno está "
                    "incluido. ¿Qué te parece?\n\nUn saludo,\nLucía",
                ),
                Turn(ALEX, "¡Me encanta! Resérvalo, por favor.\n\nAlex", 8),
                Turn(LUCIA, "Reservado. Los billetes llegan mañana por correo.\n\nLucía", 24),
            ],
            folder="Archive",
        ),
    ]


def _single() -> list[Letter]:
    return [
        Letter(
            "jonas-gruesse",
            JONAS,
            (ALEX,),
            "Grüße von der Baustelle",
            "Hallo Alex,\n\ndie 38 heilen Geräte hängen. Schöne Grüße aus Kassel, auch von den Kollegen aus der "
            "Straßenmeisterei!\n\nJonas Keller",
            6.2,
            charset="iso-8859-1",
            labels=("customers",),
        ),
        Letter(
            "dmitri-print",
            DMITRI,
            (ALEX,),
            "Печать гарантийных карт",
            "Здравствуйте, Алекс!\n\nПять тысяч карт будут готовы через четыре дня после макета. "
            "Цена прежняя.\n\nДмитрий Соколов",
            7.1,
            charset="koi8-r",
        ),
        Letter(
            "wei-housing",
            WEI,
            (ALEX,),
            "外壳样品已寄出",
            "您好，\n\n新的外壳样品昨天已经寄出，预计下周到达。请确认颜色。\n\n陈伟",
            18,
            charset="gb2312",
            cc=(SAM,),
        ),
        Letter(
            "omar-logo",
            OMAR,
            (ALEX,),
            "الشعار الجديد",
            "مرحباً أليكس،\n\nأرسل إليك النسخة الأخيرة من الشعار. أخبرني برأيك قبل يوم الخميس.\n\nعمر",
            3.7,
            starred=True,
        ),
        Letter(
            "yuki-newyear",
            YUKI,
            (ALEX, SAM),
            "新製品の発表おめでとうございます",
            "皆様\n\nもうすぐ発表ですね。成功をお祈りしております。\n\n田中由紀",
            0.9,
            charset="iso-2022-jp",
        ),
        Letter(
            "claire-cafe",
            CLAIRE,
            (SAM,),
            "Café à Paris ?",
            "Salut Sam,\n\ntu passes à Paris le mois prochain ? Je connais un café où le tableau noir change chaque "
            "jour.\n\nClaire",
            13.4,
            charset="iso-8859-1",
        ),
    ]
