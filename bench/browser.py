"""A headless Chromium without scripts or network, driven over its DevTools pipe: which text of a page has pixels?"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 800, 600
_PATIENCE = 20.0  # seconds for one answer
_FLAGS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --disable-extensions --disable-lcd-text --hide-scrollbars
    --force-color-profile=srgb --force-device-scale-factor=1 --disable-dev-shm-usage
    --disable-backgrounding-occluded-windows --disable-renderer-backgrounding --disable-background-timer-throttling
    --remote-debugging-pipe
"""


class Browser:
    """One process; `call` sends a DevTools command and waits for its answer. Events are dropped."""

    def __init__(self, profile: str) -> None:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if binary is None:
            raise SystemExit("This bench needs Chromium (Debian: apt-get install chromium).")

        def connect() -> None:
            # The browser reads descriptor 3 and writes to 4; both ends may stand in the way of the other.
            inbound, outbound = os.dup(to_browser), os.dup(from_browser)
            os.dup2(inbound, 3)
            os.dup2(outbound, 4)

        self._process = subprocess.Popen(
            [
                binary,
                *_FLAGS.split(),
                "--host-resolver-rules=MAP * ~NOTFOUND",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=connect,
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._asked = ""

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        self._number += 1
        self._asked = method
        message = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._send(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._write, data) :]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], _PATIENCE)[0]:
                raise RuntimeError(f"Chromium does not answer {self._asked}.")
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium ended.")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def tab(self) -> str:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session: str = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable", session)
        return session

    def evaluate(self, session: str, script: str) -> Any:
        answer = self.call("Runtime.evaluate", session, expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")


@contextmanager
def started() -> Iterator[Browser]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text and what its pixels say."""

    text: str
    pixels: int  # that change when this text alone is taken away
    contrast: int  # the most that a channel of any of them changes, 0-255
    size: float  # height of its line box, pixels


# Every text node becomes a highlight; highlights change paint and nothing else: no element is added, no box moves.
_COLLECT = """(() => {
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  window.runs = [];
  const skip = new Set(['SCRIPT', 'STYLE', 'TITLE', 'TEXTAREA', 'OPTION']);
  for (let node; (node = walker.nextNode());) {
    if (!node.data.trim() || !node.parentElement || skip.has(node.parentElement.tagName)) continue;
    const range = new Range(); range.selectNodeContents(node); window.runs.push(range);
  }
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('::highlight(away){color:transparent!important;-webkit-text-fill-color:transparent!important;' +
    'text-shadow:none!important;-webkit-text-stroke-color:transparent!important;' +
    'text-decoration-color:transparent!important}');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const page = document.documentElement;
  return {
    height: Math.max(page.scrollHeight, document.body ? document.body.scrollHeight : 0),
    width: Math.max(page.scrollWidth, document.body ? document.body.scrollWidth : 0),
    runs: window.runs.map(range => ({
      text: range.startContainer.data,
      size: parseFloat(getComputedStyle(range.startContainer.parentElement).fontSize),
      boxes: [...range.getClientRects()].filter(box => box.width > 0 && box.height > 0)
        .map(box => [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY]),
    })),
  };
})()"""
_AWAY = """(() => {{
  CSS.highlights.clear();
  CSS.highlights.set('away', new Highlight(...{which}.map(number => runs[number])));
}})()"""
_DIFF = """(async (first, second, boxes) => {
  const load = async data => {
    const image = await createImageBitmap(await (await fetch('data:image/png;base64,' + data)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  };
  const a = await load(first), b = await load(second);
  return boxes.map(list => {
    let pixels = 0, contrast = 0;
    for (const [left, top, right, bottom] of list)
      for (let y = Math.max(0, Math.floor(top)); y < Math.min(a.height, Math.ceil(bottom)); y++)
        for (let x = Math.max(0, Math.floor(left)); x < Math.min(a.width, Math.ceil(right)); x++) {
          const i = 4 * (y * a.width + x);
          const d = Math.max(...[i, i + 1, i + 2].map(channel => Math.abs(a.data[channel] - b.data[channel])));
          if (d > 2) { pixels++; contrast = Math.max(contrast, d); }
        }
    return [pixels, contrast];
  });
})"""


class Page:
    """Two tabs: one shows the mails, one compares pictures."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._judge = browser.tab()
        self._shown = browser.tab()
        browser.call("Emulation.setScriptExecutionDisabled", self._shown, value=True)
        self._folder = tempfile.TemporaryDirectory()

    def runs(self, html: str) -> list[Run]:
        path = Path(self._folder.name) / "mail.html"
        path.write_text("\ufeff" + html, encoding="utf-8", errors="replace")
        self._resize(WIDTH, HEIGHT)
        self._browser.call("Page.navigate", self._shown, url=path.as_uri())
        self._settle()
        found = self._browser.evaluate(self._shown, _COLLECT)
        width, height = min(2 * WIDTH, max(WIDTH, found["width"])), min(16_000, max(HEIGHT, found["height"]))
        listed = found["runs"][:3000]
        seen = self._difference(listed, range(len(listed)), width, height)
        shared = _overlapping([run["boxes"] for run in listed])
        for number in [number for number in shared if seen[number][0]][:60]:
            seen[number] = self._difference([listed[number]], [number], width, height)[0]
        return [Run(run["text"], *counts, run["size"]) for run, counts in zip(listed, seen, strict=True)]

    def _settle(self) -> None:
        for _ in range(200):
            if self._browser.evaluate(self._shown, "document.readyState") == "complete":
                return

    def _resize(self, width: int, height: int) -> None:
        self._browser.call(
            "Emulation.setDeviceMetricsOverride",
            self._shown,
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def _difference(self, listed: list[dict[str, Any]], numbers: Any, width: int, height: int) -> list[list[int]]:
        pictures = [self._picture(which, width, height) for which in ([], list(numbers))]
        boxes = json.dumps([run["boxes"] for run in listed])
        answer: list[list[int]] = self._browser.evaluate(
            self._judge, f"{_DIFF}({json.dumps(pictures[0])}, {json.dumps(pictures[1])}, {boxes})"
        )
        return answer

    def _picture(self, away: list[int], width: int, height: int) -> str:
        self._browser.evaluate(self._shown, _AWAY.format(which=json.dumps(away)))
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        picture: str = self._browser.call(
            "Page.captureScreenshot", self._shown, format="png", captureBeyondViewport=True, clip=clip
        )["data"]
        return picture


def _overlapping(boxes: list[list[list[float]]]) -> list[int]:
    """The runs whose boxes lie over another's by more than an edge: their pixels are judged one run at a time."""
    flat = sorted((box[1], box[3], box[0], box[2], number) for number, group in enumerate(boxes) for box in group)
    found: set[int] = set()
    active: list[tuple[float, float, float, float, int]] = []
    for top, bottom, left, right, number in flat:
        active = [other for other in active if other[1] - 1 > top][-200:]
        for other in active:
            if other[4] != number and min(right, other[3]) - max(left, other[2]) > 2:
                found.update((number, other[4]))
        active.append((top, bottom, left, right, number))
    return sorted(found)
