"""How a word looks to a reader: letters of other scripts, digits for letters, rn for m.

The table is small on purpose: the letters of Cyrillic, Greek and Latin extensions that look like plain ones in common
fonts.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Cyrillic, Greek, Latin extensions, digits: each character and the letter it is mistaken for.
_LOOKS_LIKE = (
    str.maketrans("аеорсухіјѕһӏԁԛԝьвкмнтг", "aeopcyxijshldqwbbkmhtr")
    | str.maketrans("αορνικτυεηγωχβ", "aopvlktuenywxb")
    | str.maketrans("ıɑɡɩßþøđł", "laglbpodl")
    | str.maketrans("013457", "oleast")
)
_SWAPS = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("i", "l"))


@lru_cache(maxsize=256)
def skeleton(text: str) -> str:
    low = unicodedata.normalize("NFKD", text).lower()  # in this order: mathematical capitals have no small ones
    bare = "".join(char for char in low if not unicodedata.combining(char)).translate(_LOOKS_LIKE)
    for seen, read in _SWAPS:
        bare = bare.replace(seen, read)
    return bare
