"""Rules in the forms of mail servers: what is written is accepted by their own compilers, what is not is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.peers.accounts import imap_account
from tests.peers.cyrus import _UNPACKED
from tests.peers.dovecot import Dovecot

from postroom.model.errors import InvalidRequest
from postroom.providers.imap.rules.managesieve import SieveScripts
from postroom.service.gateway import Gateway
from postroom.service.rules.document import read_rule
from postroom.service.rules.server_side import compile_rule, remove_uploaded, upload_rule
from postroom.settings import build
from postroom.wiring import open_gateway

EXPRESSIBLE = """\
version: 1
name: 'a "quoted" näme'
conditions:
  - {field: from, operator: matches, value: '*@news.example'}
  - {field: subject, operator: contains, value: 'say "hi" \\ now'}
  - {field: list_id, operator: contains, value: dev}
  - {field: body, operator: contains, value: 請求書}
  - {field: size, operator: greater_than, value: 1M, not: true}
actions:
  - {type: apply_label, label: to do}
  - {type: star}
  - {type: mark_read}
  - {type: archive}
"""
INEXPRESSIBLE = """\
version: 1
name: x
conditions:
  - {field: age_days, operator: greater_than, value: 7}
  - {field: labels, operator: equals, value: news}
actions:
  - {type: forward, to: bob@demo.example}
"""
SIMPLE = """\
version: 1
name: {name}
conditions: [{{field: from, operator: contains, value: circuit}}]
actions: [{{type: apply_label, label: news}}, {{type: archive}}]
"""


@pytest.fixture
async def gateway(tmp_path: Path) -> Any:
    async with open_gateway(build({"accounts": [local(tmp_path)]}, home=tmp_path)) as opened:
        yield opened


def local(tmp_path: Path) -> dict[str, str]:
    return {"name": "alice", "provider": "local", "address": "alice@demo.example", "path": str(tmp_path / "alice.db")}


def sievec(peer: str, script: Path) -> None:
    """Raises where the compiler of that server refuses the script."""
    output = script.with_suffix(".out")
    if peer == "dovecot":
        command, environment = ["sievec", str(script), str(output)], {}
    else:
        libraries = [str(path) for pattern in ("usr/lib/*-gnu", "lib/*-gnu") for path in _UNPACKED.glob(pattern)]
        config = script.with_suffix(".conf")
        config.write_text(f"configdirectory: {script.parent}\nsieve_utf8fileinto: 1\n")
        program = _UNPACKED / "usr/lib/cyrus/bin/sievec"
        command = [str(program), "-C", str(config), str(script), str(output)]
        environment = {"LD_LIBRARY_PATH": ":".join(libraries)}
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert output.stat().st_size


def missing(peer: str) -> bool:
    return (
        shutil.which("sievec") is None if peer == "dovecot" else not (_UNPACKED / "usr/lib/cyrus/bin/sievec").exists()
    )


@pytest.mark.parametrize("peer", ["dovecot", "cyrus"])
async def test_the_script_of_a_rule_is_compiled_by_real_servers(gateway: Gateway, tmp_path: Path, peer: str) -> None:
    if missing(peer) and os.environ.get("CI") != "true":
        pytest.skip(f"the Sieve compiler of {peer} is not installed")
    written = await compile_rule(gateway, read_rule(EXPRESSIBLE), "sieve")
    assert written.lacking == ()
    script = tmp_path / "rule.sieve"
    script.write_text(written.text)

    sievec(peer, script)


@pytest.mark.parametrize("form", ["sieve", "gmail", "graph"])
async def test_what_a_server_cannot_express_is_named_and_nothing_is_written(gateway: Gateway, form: Any) -> None:
    written = await compile_rule(gateway, read_rule(INEXPRESSIBLE), form)

    assert written.text == ""
    said = "; ".join(written.lacking)
    for part in ("age_days", "labels", "forward"):
        assert part in said


async def test_gmail_and_graph_get_json_in_their_own_words(gateway: Gateway) -> None:
    definition = read_rule(SIMPLE.format(name="circuits"))
    gmail = json.loads((await compile_rule(gateway, definition, "gmail")).text)
    graph = json.loads((await compile_rule(gateway, definition, "graph")).text)

    assert gmail["criteria"]["query"] == 'from:"circuit"'
    assert gmail["action"] == {"addLabelIds": ["news"], "removeLabelIds": ["INBOX"]}
    assert graph["conditions"] == {"senderContains": ["circuit"]}
    assert graph["actions"] == {"assignCategories": ["news"], "moveToFolder": "Archive"}


async def test_rules_are_uploaded_beside_each_other_and_beside_those_of_other_programs(
    dovecot: Dovecot, tmp_path: Path
) -> None:
    account = imap_account(
        dovecot, sieve_host="localhost", sieve_port=dovecot.sieve, ca_file=dovecot.certificates.ca, timeout=5
    )
    scripts = SieveScripts(account)
    await scripts.put("theirs", "keep;\n")
    async with open_gateway(build({"accounts": [account]}, home=tmp_path)) as gateway:
        first = await upload_rule(gateway, read_rule(SIMPLE.format(name="first")))
        second = await upload_rule(gateway, read_rule(SIMPLE.format(name="second")))
        assert (first.names, first.is_running) == (("first",), True)
        assert (second.names, second.is_running) == (("first", "second"), True)
        with pytest.raises(InvalidRequest, match="age_days"):
            await upload_rule(gateway, read_rule(INEXPRESSIBLE))
        left = await remove_uploaded(gateway, "first")
        assert left.names == ("second",)
    assert (await scripts.get("theirs")).strip() == "keep;"


async def test_rules_that_are_uploaded_at_the_same_moment_are_all_there(dovecot: Dovecot, tmp_path: Path) -> None:
    account = imap_account(
        dovecot, sieve_host="localhost", sieve_port=dovecot.sieve, ca_file=dovecot.certificates.ca, timeout=5
    )
    settings = build({"accounts": [account]}, home=tmp_path)
    async with open_gateway(settings) as one, open_gateway(settings) as other:
        names = {f"rule {number}" for number in range(6)}
        async with anyio.create_task_group() as group:
            for gateway, name in zip([one, other] * 3, names, strict=True):
                group.start_soon(upload_rule, gateway, read_rule(SIMPLE.format(name=name)))
        last = await remove_uploaded(one, "rule 0")
    assert (set(last.names), last.is_running) == (names - {"rule 0"}, True)


async def test_rules_that_two_accounts_of_one_mailbox_upload_at_the_same_moment_are_all_there(
    dovecot: Dovecot, tmp_path: Path
) -> None:
    server = {"sieve_host": "localhost", "sieve_port": dovecot.sieve, "ca_file": dovecot.certificates.ca}
    work = imap_account(dovecot, **server)
    settings = build({"accounts": [work, work.model_copy(update={"name": "again"})]}, home=tmp_path)
    async with open_gateway(settings) as gateway:
        names = {f"rule {number}" for number in range(6)}
        async with anyio.create_task_group() as group:
            for account, name in zip([work.name, "again"] * 3, names, strict=True):
                group.start_soon(partial(upload_rule, gateway, read_rule(SIMPLE.format(name=name)), account=account))
        last = await remove_uploaded(gateway, "rule 0")
    assert set(last.names) == names - {"rule 0"}


async def test_where_another_program_has_its_rules_running_ours_are_stored_and_it_is_said_that_they_do_not_run(
    dovecot: Dovecot, tmp_path: Path
) -> None:
    account = imap_account(
        dovecot, sieve_host="localhost", sieve_port=dovecot.sieve, ca_file=dovecot.certificates.ca, timeout=5
    )
    scripts = SieveScripts(account)
    await scripts.put("theirs", "keep;\n")
    await scripts.activate("theirs")
    async with open_gateway(build({"accounts": [account]}, home=tmp_path)) as gateway:
        view = await upload_rule(gateway, read_rule(SIMPLE.format(name="ours")))
    assert (view.names, view.is_running) == (("ours",), False)
    assert "theirs" in view.notice
    assert (await scripts.list()).active == "theirs"
