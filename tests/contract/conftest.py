from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from .rigs import RIGS, Rig, RigAccount, running_rig


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rig", action="append", choices=RIGS, help="run the contract on this rig only")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "rig_class" in metafunc.fixturenames:
        names = metafunc.config.getoption("--rig", default=None) or RIGS
        metafunc.parametrize("rig_class", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def rig_class(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Rig]]:
    with running_rig(request.param, tmp_path_factory.mktemp(request.param)) as rig:
        yield rig


@pytest.fixture
async def rig(rig_class: type[Rig], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    rig = rig_class(tmp_path_factory.mktemp("account"))
    yield rig
    await rig.close()


@pytest.fixture
async def account(rig: Rig, request: pytest.FixtureRequest) -> RigAccount:
    """A fresh, empty, connected account. A test marked `needs` is skipped only where that capability is false."""
    account = await rig.make_account()
    for marker in request.node.iter_markers("needs"):
        for capability in marker.args:
            if not getattr(account.capabilities, capability):
                pytest.skip(f"{account.capabilities.provider} has {capability} = False; test_absent checks that")
    return account
