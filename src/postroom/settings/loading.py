"""From file, environment and command line to one `Settings`, later ones winning."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from postroom.settings import file
from postroom.settings.accounts import AccountSettings
from postroom.settings.dialects import TRAITS
from postroom.settings.environment import Data, merge, merge_environment
from postroom.settings.exposure import refuse_exposed
from postroom.settings.fields import CONFIG_FOLDER, HOME, Section
from postroom.settings.model import ConfigFile, Settings
from postroom.settings.paths import home_folder
from postroom.settings.problems import SettingsError, explain, suggest
from postroom.settings.sections import SafetySettings

DEMO_ACCOUNTS: Sequence[Mapping[str, str]] = (
    {"name": "alex", "address": "alex@demo.example", "display_name": "Alex Rivera"},
    {"name": "sam", "address": "sam@demo.example", "display_name": "Sam Okonkwo"},
)

_IN_VAULT = frozenset({"pending_approval", "approved", "rejected", "done", "logs"})
_EMPTY_TABLES: Mapping[str, Any] = {name: {} for name in ConfigFile.model_fields if name != "accounts"}


def load(
    path: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Read the settings; with no file and no account anywhere, those of the demo.

    `overrides` has the shape of the file and wins over everything (the command line's flags).
    """
    environ = os.environ if environ is None else environ
    found = file.find(path, environ)
    warnings: list[str] = []
    data = _layered(found, environ, overrides, warnings)
    if not data.get("accounts"):
        if found is not None:
            _validated(data, home_folder(environ), found)  # [[account]] is a misspelling, not a file without accounts
            raise SettingsError(f"{found}: names no account; run postroom accounts add, or postroom demo to try it out")
        return _demo(data, environ, None)
    return replace(build(data, home=home_folder(environ), config_path=found), warnings=tuple(warnings))


def load_demo(
    path: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """The embedded sample mailbox, regardless of what is configured; a file is read only when it is named here."""
    environ = os.environ if environ is None else environ
    found = file.find(path, environ) if path is not None else None
    return _demo(_layered(found, environ, overrides, []), environ, found)


def build(data: Mapping[str, Any], *, home: Path, config_path: Path | None = None, is_demo: bool = False) -> Settings:
    """Settings from a mapping in the shape of the file. Relative paths are resolved against `home`; those of
    certificates and secret files against the folder of the configuration file."""
    read = _validated(data, home, config_path)
    _refuse_twins(read.accounts)
    refuse_exposed(read.server, read.accounts)
    _refuse_absent_accounts(read)
    _refuse_downloads_in_vault(read.safety)
    _refuse_templates_elsewhere(read)
    sections = {key: getattr(read, key) for key in ConfigFile.model_fields}
    return Settings(**{**sections, **_chosen_by_dialect(read)}, home=home, config_path=config_path, is_demo=is_demo)


def _validated(data: Mapping[str, Any], home: Path, config_path: Path | None) -> ConfigFile:
    context = {HOME: home, CONFIG_FOLDER: config_path.parent if config_path else home}
    try:
        return ConfigFile.model_validate({**_EMPTY_TABLES, **data}, context=context)
    except ValidationError as error:
        raise explain(error, ConfigFile) from None


def _chosen_by_dialect(read: ConfigFile) -> dict[str, Section]:
    """What the operator did not set, with the dialect's defaults."""
    traits = TRAITS[read.server.dialect]
    return {
        "server": _with_default(read.server, "toolsets", traits.toolsets),
        "safety": _with_default(read.safety, "gate", traits.gate),
    }


def _with_default(section: Section, key: str, value: object) -> Section:
    return section if key in section.model_fields_set else section.model_copy(update={key: value})


def _layered(
    found: Path | None, environ: Mapping[str, str], overrides: Mapping[str, Any] | None, warnings: list[str]
) -> Data:
    written = file.read(found, warnings.append) if found is not None else {}
    return merge(merge_environment(written, environ), overrides or {})


def _demo(data: Data, environ: Mapping[str, str], config_path: Path | None) -> Settings:
    accounts = [{**one, "provider": "local", "path": f"demo/{one['name']}.db"} for one in DEMO_ACCOUNTS]
    return build({**data, "accounts": accounts}, home=home_folder(environ), config_path=config_path, is_demo=True)


def _refuse_downloads_in_vault(safety: SafetySettings) -> None:
    """What anybody sends as an attachment must not become an approval. Links are followed, as when saving. In the vault
    itself, the folder of a client called Approved would be that of the approvals."""
    place, vault = safety.download_dir.resolve(), safety.vault.resolve()
    if not place.is_relative_to(vault):
        return
    if place == vault or place.relative_to(vault).parts[0].casefold() in _IN_VAULT:
        raise SettingsError(
            "safety.download_dir: must not be the vault or one of its folders, where a downloaded file could count as "
            "an approval"
        )


def _refuse_templates_elsewhere(read: ConfigFile) -> None:
    """An agent may write templates, and no agent may write an approval; no sender of an attachment writes templates."""
    place = read.templates.dir.resolve()
    if place.is_relative_to(read.safety.vault.resolve()):
        raise SettingsError("templates.dir: must not be in the vault, where a file could count as an approval")
    if place.is_relative_to(read.safety.download_dir.resolve()):
        raise SettingsError("templates.dir: must not be in safety.download_dir, where attachments are saved")


def _refuse_absent_accounts(read: ConfigFile) -> None:
    names = [account.name for account in read.accounts]
    for place, grant in enumerate(read.authorization.grants):
        for name in grant.accounts:
            if name not in names:
                raise SettingsError(
                    f"authorization.grants[{place}].accounts: there is no account {name[:80]}{suggest(name, names)}"
                )


def _refuse_twins(accounts: Sequence[AccountSettings]) -> None:
    counted = Counter(account.name.casefold() for account in accounts)
    for place, account in enumerate(accounts):
        if counted[account.name.casefold()] > 1:
            raise SettingsError(f"accounts[{place}].name: two accounts are named {account.name}; rename one")
