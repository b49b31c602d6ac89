"""What a provider is told about the gateway it runs in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.settings import AccountSettings


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """`home` holds state, `neighbours` are all configured accounts (local ones deliver to each other).

    In the demo (`is_demo`) the people of the sample accept messages, and answer.

    `proxies`: whether HTTP uses the proxies from the environment.

    Under `read_only` the layers refuse every write method; a provider checks it only for work it starts itself.
    """

    home: Path
    neighbours: tuple[AccountSettings, ...] = ()
    read_only: bool = False
    is_demo: bool = False
    proxies: bool = True
