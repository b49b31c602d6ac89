"""Where a user's configuration and data belong on each system."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

APP = "postroom"
CONFIG_NAME = "postroom.toml"


def config_file(environ: Mapping[str, str]) -> Path:
    return _folder(environ, "XDG_CONFIG_HOME", ".config") / CONFIG_NAME


def home_folder(environ: Mapping[str, str]) -> Path:
    """`$POSTROOM_HOME`, else the user's data folder."""
    chosen = environ.get("POSTROOM_HOME", "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute()
    return _folder(environ, "XDG_DATA_HOME", ".local/share")


def _folder(environ: Mapping[str, str], xdg: str, below_home: str) -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / APP
    base = environ.get(xdg, "")
    # The XDG specification tells programs to ignore relative values.
    return (Path(base) if base.startswith("/") else Path.home() / below_home) / APP
