"""The deployment files name files, settings, flags and paths that exist."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from postroom.doors.cli.main import build_parser
from postroom.doors.mcp.http.guard import OPEN_PATHS
from postroom.settings import load

from .tree import ROOT

DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
SECRETS = {"client-tokens": "a-token-long-enough-for-a-client", "mail-password": "secret"}


def no_serving(*_: Any, **__: Any) -> None:
    raise AssertionError("nothing is started here")


def manifests() -> dict[str, Any]:
    return {each["kind"]: each for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())}


def service_unit() -> ConfigParser:
    unit = ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "postroom.service")
    return unit


def image_environment() -> dict[str, str]:
    (block,) = re.findall(r"^ENV ((?:.*\\\n)*.*)$", DOCKERFILE, re.M)
    return dict(pair.split("=", 1) for pair in shlex.split(block.replace("\\\n", " ")))


def loaded(tmp_path: Path, text: str, environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The settings as the server would load them there, with the secrets where this machine can have them."""
    for name, content in SECRETS.items():
        secret = tmp_path / name
        secret.write_text(content)
        secret.chmod(0o400)
    config = tmp_path / "postroom.toml"
    config.write_text(re.sub(r"/run/secrets(/postroom)?", str(tmp_path), text))
    for name, value in environment.items():
        monkeypatch.setenv(name, re.sub(r"/run/secrets(/postroom)?", str(tmp_path), value))
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    return load(config)


def server_environment() -> dict[str, str]:
    return {name: value for name, value in image_environment().items() if name.startswith("POSTROOM_SERVER")}


def test_everything_the_image_is_built_from_exists_and_is_let_through() -> None:
    copied = [line.split()[1:-1] for line in DOCKERFILE.splitlines() if re.match(r"COPY (?!--from)", line)]
    sources = [name for names in copied for name in names]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert sources
    for name in sources:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in ignored, name


def test_the_image_starts_the_server_with_flags_that_exist() -> None:
    (command,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.M)
    args = build_parser(no_serving).parse_args(yaml.safe_load(command))
    assert args.http is not None


def test_health_checks_ask_for_a_path_that_needs_no_token_by_a_host_that_is_served() -> None:
    (asked,) = re.findall(r"http://127\.0\.0\.1:8090(/\w+)", DOCKERFILE)
    (container,) = manifests()["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    probes = [container[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")]
    assert asked in OPEN_PATHS
    for probe in probes:
        assert probe["path"] in OPEN_PATHS
        assert probe["httpHeaders"] == [{"name": "Host", "value": "localhost"}]


def test_the_settings_in_the_kubernetes_example_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(tmp_path, manifests()["ConfigMap"]["data"]["postroom.toml"], server_environment(), monkeypatch)
    assert [account.name for account in settings.accounts] == ["work"]
    assert settings.server.bind_addr == "0.0.0.0:8090"


def test_the_environment_in_the_compose_example_completes_an_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["postroom"]
    account = tomllib.loads(manifests()["ConfigMap"]["data"]["postroom.toml"])["accounts"][0]
    text = "[[accounts]]\n" + "".join(f'{key} = "{account[key]}"\n' for key in ("name", "provider", "address", "host"))
    settings = loaded(tmp_path, text, {**server_environment(), **service["environment"]}, monkeypatch)
    assert Path(settings.accounts[0].password_file).name == "mail-password"
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


def test_what_must_survive_a_container_is_on_a_volume() -> None:
    home = image_environment()["POSTROOM_HOME"]
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["postroom"]
    pod = manifests()["StatefulSet"]["spec"]
    mounts = {each["name"]: each["mountPath"] for each in pod["template"]["spec"]["containers"][0]["volumeMounts"]}
    assert f"VOLUME {home}\n" in DOCKERFILE
    assert f"state:{home}" in service["volumes"]
    assert [claim["metadata"]["name"] for claim in pod["volumeClaimTemplates"]] == ["state"]
    assert mounts["state"] == home


def test_the_service_unit_starts_the_server_with_flags_that_exist() -> None:
    command = shlex.split(service_unit()["Service"]["ExecStart"])
    args = build_parser(no_serving).parse_args(command[1:])
    assert args.http is not None
    assert args.config == Path("/etc/postroom/postroom.toml")


def test_a_person_can_approve_as_the_user_of_the_service_unit() -> None:
    service = service_unit()["Service"]
    assert service["User"] == "postroom"
    assert "DynamicUser" not in service  # its home is below a folder that only root may enter


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_service_unit(tmp_path: Path) -> None:
    unit = tmp_path / "postroom.service"
    program = shutil.which("true") or os.devnull
    unit.write_text((DEPLOY / "postroom.service").read_text().replace("/opt/postroom/bin/postroom", program))
    checked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert "postroom.service" not in checked.stderr
