"""One TOML file and the environment, read once into typed, frozen settings.

`load` returns `Settings` or raises `SettingsError`, whose message names the key and says what to write instead.
Secrets stay wrapped until `secrets.resolve` is called. Nothing here creates a folder, opens a connection or knows
more about a provider than its keys.
"""

from postroom.settings.accounts import (
    AccountSettings,
    GmailAccount,
    GraphAccount,
    ImapAccount,
    JmapAccount,
    LocalAccount,
    RestAccount,
)
from postroom.settings.loading import build, load, load_demo
from postroom.settings.model import Settings
from postroom.settings.problems import SettingsError
from postroom.settings.sections import LoggingSettings, NetworkSettings, SafetySettings, ServerSettings, StoreSettings

__all__ = [
    "AccountSettings",
    "GmailAccount",
    "GraphAccount",
    "ImapAccount",
    "JmapAccount",
    "LocalAccount",
    "LoggingSettings",
    "NetworkSettings",
    "RestAccount",
    "SafetySettings",
    "ServerSettings",
    "Settings",
    "SettingsError",
    "StoreSettings",
    "build",
    "load",
    "load_demo",
]
