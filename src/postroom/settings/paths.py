"""Where a user's configuration and data belong on each system."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from postroom.settings.problems import SettingsError

APP = "postroom"
CONFIG_NAME = "postroom.toml"


def config_file(environ: Mapping[str, str]) -> Path:
    return _folder(environ, "XDG_CONFIG_HOME", ".config") / CONFIG_NAME


def home_folder(environ: Mapping[str, str]) -> Path:
    """`$POSTROOM_HOME`, else the user's data folder."""
    chosen = environ.get("POSTROOM_HOME", "").strip()
    if chosen:
        return named_path(chosen, "POSTROOM_HOME")
    return _folder(environ, "XDG_DATA_HOME", ".local/share")


def named_path(text: str | Path, origin: str) -> Path:
    """What a flag or a variable names, which is its `origin`."""
    try:
        return expanded(Path(text)).absolute()
    except ValueError as error:
        raise SettingsError(f"{origin}: {error}") from None


def expanded(path: Path) -> Path:
    """With ``~`` resolved; ValueError for what no file can be called."""
    if "\0" in str(path):
        raise ValueError("a path has no NUL character")
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError(f"there is no home folder for {path.parts[0][:80]}; write the whole path") from None


def _folder(environ: Mapping[str, str], xdg: str, below_home: str) -> Path:
    base = environ.get(xdg, "")
    try:
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / APP
        # The XDG specification tells programs to ignore relative values.
        return (Path(base) if base.startswith("/") else Path.home() / below_home) / APP
    except RuntimeError:
        raise SettingsError(
            "HOME: not set, and this user has no home folder; set it, or set POSTROOM_HOME and POSTROOM_CONFIG"
        ) from None
