"""What a provider is told about the house it works in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.settings import AccountSettings


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """`home` holds state, `neighbours` are all configured accounts (local ones deliver to each other).

    In the demo (`is_demo`) the people of the sample can be written to, and answer.

    `proxies`: whether the proxies that the environment names count for HTTP.

    Under `read_only` the layers refuse every writing verb; a provider looks at it only for work it starts by itself.
    """

    home: Path
    neighbours: tuple[AccountSettings, ...] = ()
    read_only: bool = False
    is_demo: bool = False
    proxies: bool = True
