"""Is what a model reads what a person would see? A real browser's pixels are the judge.

    python bench/visible.py [FOLDER ...]

First the made ways to hide text (tests/unit/mime/hiding_ways.txt), then every mail with HTML (*.eml, *.html) under the
folders.
A stretch of text counts as seen where taking it away changes pixels, as hidden where it changes none. What is between
(letters under 5 pixels, contrast under 24 of 255, more than one screen to the right) is left out of both rates.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.unit.mime import hiding_ways

import browser
from postroom.mime.clean import clean_text
from postroom.mime.html.document import open_html
from postroom.mime.html.doubts import DOUBT_CLOSES, DOUBT_OPENS
from postroom.mime.html.markdown import to_plain_text
from postroom.mime.read.parse import parse

_DOUBT = re.compile(rf"{re.escape(DOUBT_OPENS)}(.*?){re.escape(DOUBT_CLOSES)}", re.DOTALL)


class Judge:
    """A browser that is started anew when it stops answering."""

    def __init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self._context = browser.started()
        self._page = browser.Page(self._context.__enter__())

    def close(self) -> None:
        self._context.__exit__(None, None, None)

    def runs(self, html: str) -> list[browser.Run] | None:
        try:
            return self._page.runs(html)
        except RuntimeError as error:
            print(f"  not judged: {error}")
            self.close()
            self._open()
            return None


def state(run: browser.Run) -> str:
    if run.pixels == 0 or run.contrast <= 10:
        return "hidden"
    return "seen" if run.contrast >= 24 and run.size >= 5 else "between"


def made(judge: Judge) -> None:
    for name, ways, wanted in (("hiding", hiding_ways.HIDDEN, "hidden"), ("not hiding", hiding_ways.SEEN, "seen")):
        counts: Counter[str] = Counter()
        for way in ways:
            html = hiding_ways.page(way)
            runs = judge.runs(html)
            found = {state(run) for run in runs or () if "SECRET" in run.text}
            truth = "hidden" if found <= {"hidden"} else "seen" if found == {"seen"} else "between"
            ours = shown_as(html)
            counts[f"{truth}, {ours}"] += 1
            if truth != wanted or (ours != truth and ours != "marked"):
                print(f"  {truth:8} in the browser, {ours:8} by Postroom: {way[:110]}")
        print(f"{name}: {len(ways)} ways, in the browser and by Postroom: {dict(counts)}")


def shown_as(html: str) -> str:
    text = to_plain_text(open_html(html).document)
    if "SECRET" not in _DOUBT.sub("", text):
        return "marked" if "SECRET" in text else "hidden"
    return "seen"


def mails(judge: Judge, folders: list[str]) -> None:
    total = lost = leaked = 0
    for name, html in documents(folders):
        runs = judge.runs(html)
        if runs is None:
            continue
        total += 1
        text = to_plain_text(open_html(html).document)
        sure = squeezed(_DOUBT.sub("", text))
        known = squeezed(text.replace(DOUBT_OPENS, "").replace(DOUBT_CLOSES, ""))
        stretches = [(squeezed(run.text), state(run)) for run in runs]
        shown = "".join(stretch for stretch, judged in stretches if judged != "hidden")
        missing = [stretch for stretch, judged in stretches if judged == "seen" and stretch not in known]
        extra = [
            stretch
            for stretch, judged in stretches
            if judged == "hidden" and len(stretch) > 3 and stretch in sure and stretch not in shown
        ]
        if missing:
            lost += 1
            print(f"  lost: {name}: {' | '.join(missing)[:200]}")
        if extra:
            leaked += 1
            print(f"  leaked: {name}: {' | '.join(extra)[:200]}")
    print(f"mails: {total}; {lost} lost visible words, {leaked} show hidden ones without a mark")


def squeezed(text: str) -> str:
    """Letters and digits alone: blanks, marks and list bullets differ."""
    return "".join(filter(str.isalnum, clean_text(text).lower()))


def documents(folders: list[str]) -> Iterator[tuple[str, str]]:
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*")):
        if path.suffix in (".html", ".htm"):
            yield path.name, path.read_text("utf-8", "replace")
        elif path.is_file() and path.suffix in (".eml", ".txt", ".msg", "") and path.stat().st_size < 2_000_000:
            html = parse(path.read_bytes()).body.html
            if html.strip():
                yield path.name, html


def main(folders: list[str]) -> None:
    started = time.perf_counter()
    judge = Judge()
    try:
        if folders[:1] != ["--mails-only"]:
            made(judge)
        if folders:
            mails(judge, [folder for folder in folders if not folder.startswith("--")])
    finally:
        judge.close()
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
