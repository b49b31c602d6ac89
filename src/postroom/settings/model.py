"""The settings as the rest of Postroom sees them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from postroom.settings.accounts import AccountSettings
from postroom.settings.authorization import AuthorizationSettings
from postroom.settings.dialects import TRAITS, Traits
from postroom.settings.fields import Section
from postroom.settings.sections import (
    LoggingSettings,
    NetworkSettings,
    SafetySettings,
    ServerSettings,
    StoreSettings,
    TemplateSettings,
)


class ConfigFile(Section):
    """Everything the TOML file may contain. `loading.build` reads an absent table as an empty one."""

    server: ServerSettings
    authorization: AuthorizationSettings
    accounts: tuple[Annotated[AccountSettings, Field(discriminator="provider")], ...] = ()
    safety: SafetySettings
    templates: TemplateSettings
    store: StoreSettings
    network: NetworkSettings
    logging: LoggingSettings


@dataclass(frozen=True, slots=True)
class Settings:
    """`home` holds all state; `config_path` is the file that was read, None when there was none."""

    server: ServerSettings
    accounts: tuple[AccountSettings, ...]  # the first is the default account
    safety: SafetySettings
    templates: TemplateSettings
    store: StoreSettings
    network: NetworkSettings
    logging: LoggingSettings
    authorization: AuthorizationSettings
    home: Path
    config_path: Path | None = None
    is_demo: bool = False
    all_downloads: Path | None = None  # where these are one client's: the folder in which every client has its own
    warnings: tuple[str, ...] = ()  # what an operator should know although it is accepted

    @property
    def traits(self) -> Traits:
        """What the dialect requires of the rest of the gateway."""
        return TRAITS[self.server.dialect]
