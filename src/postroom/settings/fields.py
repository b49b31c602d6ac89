"""The types of values a setting may have.

A TOML value must have its own type: ``dev_mode = "yes"`` is an error. The environment has only text, so values
from it are marked as `EnvText` and parsed by the same types.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr, Strict, ValidationInfo

from postroom.settings.paths import expanded

_ON, _OFF = {"true", "1", "yes", "on"}, {"false", "0", "no", "off"}


class EnvText(str):
    """A value from the environment."""

    __slots__ = ()


class Section(BaseModel):
    """One table of the file: frozen, and unknown keys are errors. Validators are built on first use."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)


def read_switch(text: str) -> bool:
    low = text.strip().lower()
    if low in _ON:
        return True
    if low in _OFF:
        return False
    raise ValueError("write true or false")


def _switch(value: Any) -> Any:
    return read_switch(value) if isinstance(value, EnvText) else value


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, EnvText) and value.strip().isdecimal() else value


def _list(value: Any) -> Any:
    """From the environment, a JSON array or comma-separated values. A variable that was left empty, as by a script that
    passes on one that is not set, does not lift what the file restricts."""
    if not isinstance(value, EnvText):
        return value
    if not value.strip(" ,\t\r\n"):
        raise ValueError("the variable is empty; write [] for an empty list, or remove the variable")
    if value.lstrip().startswith("["):
        return [EnvText(item) if isinstance(item, str) else item for item in json.loads(value)]
    return [EnvText(item.strip()) for item in value.split(",") if item.strip()]


def _list_only(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return value
    raise ValueError("write a list")


def _below(folder: str) -> AfterValidator:
    """Relative paths are resolved against the folder of that name in the validation context."""

    def resolve(path: Path, info: ValidationInfo) -> Path:
        base = info.context.get(folder) if isinstance(info.context, Mapping) else None
        path = expanded(path)
        return base / path if base is not None else path

    return AfterValidator(resolve)


Switch = Annotated[bool, Strict(), BeforeValidator(_switch)]
Number = Annotated[int, Strict(), BeforeValidator(_number)]
Secret = SecretStr | None

HOME, CONFIG_FOLDER = "home", "config_folder"
HomePath = Annotated[Path, _below(HOME)]
ConfigPath = Annotated[Path, _below(CONFIG_FOLDER)]

AsList = (BeforeValidator(_list_only), BeforeValidator(_list))  # run from right to left
