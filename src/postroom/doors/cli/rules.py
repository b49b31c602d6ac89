"""postroom rules: see what a rule would do, run it, save it, or hand it to the mail server."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from postroom.doors.cli.options import Subparsers, add_config, add_verb_config, in_gateway

if TYPE_CHECKING:
    from postroom.model.rule import Definition
    from postroom.service.gateway import Gateway
    from postroom.service.rules.server_side import Uploaded
    from postroom.service.rules.views import PlanView, RuleView, RunView

_VERBS = (
    ("list", "the saved rules"),
    ("plan", "show what a rule would do now; nothing is changed"),
    ("run", "show what a rule would do, ask, then do exactly that"),
    ("undo", "reverse a run, by the operation_id that it returned"),
    ("save", "check and save a rule"),
    ("delete", "delete a saved rule"),
    ("compile", "print a rule in the form of a mail server, and what that cannot express"),
    ("upload", "let the mail server itself run a rule on arriving mail"),
)
_RULE = "a YAML file, - for standard input, or the id or name of a saved rule"


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("rules", help="plan, run, save or compile rules")
    add_config(parser)
    parser.set_defaults(run=run, verb="list")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", help="without one: list")
    for name, text in _VERBS:
        verb = verbs.add_parser(name, help=text)
        add_verb_config(verb)
        if name != "list":
            text = {"undo": "the operation_id", "run": f"{_RULE}, or the id of a plan"}.get(name, _RULE)
            verb.add_argument("rule", metavar="OPERATION" if name == "undo" else "RULE", help=text)
        if name not in ("list", "undo"):
            verb.add_argument("--account", metavar="NAME", help="which account (default: the rule's, or the first)")
        if name == "run":
            verb.add_argument("--yes", action="store_true", help="do not ask at the terminal")
        if name == "compile":
            verb.add_argument("--to", required=True, choices=("sieve", "gmail", "graph"), help="the form to write")
        if name == "upload":
            verb.add_argument("--remove", action="store_true", help="take the rule of that name off the server")
        verb.set_defaults(run=run, verb=name)


def run(args: argparse.Namespace) -> int:
    if args.verb == "run":
        return _run(args)
    work = {
        "list": _list,
        "plan": _plan,
        "undo": _undo,
        "save": _save,
        "delete": _delete,
        "compile": _compile,
        "upload": _upload,
    }[args.verb]
    return in_gateway(args, lambda gateway: work(gateway, args))


def _require_terminal() -> None:
    from postroom.model.errors import InvalidRequest

    if not sys.stdin.isatty():
        raise InvalidRequest("There is no terminal to ask at. Run it at one, or give --yes.")


async def _list(gateway: Gateway, _: argparse.Namespace) -> int:
    from postroom.doors.cli import table
    from postroom.service.rules import rules

    page = await rules.list_rules(gateway, limit=100)
    rows = [
        (rule.rule_id, rule.account, rule.name, _state(rule), rule.schedule, rule.last_result) for rule in page.results
    ]
    print("\n".join(table.lines(("ID", "ACCOUNT", "NAME", "STATE", "SCHEDULE", "LAST RUN"), rows)) or "no rules")
    return 0


def _state(rule: RuleView) -> str:
    if not rule.enabled:
        return "disabled"
    return "waits for a first run" if rule.notices else "enabled"


async def _plan(gateway: Gateway, args: argparse.Namespace) -> int:
    plan = await _made_plan(gateway, args)
    print("\n".join(_planned(plan)))
    if plan.results:
        print(f"to run exactly this: postroom rules run {plan.plan_id}")
    return 0


def _run(args: argparse.Namespace) -> int:
    """A plan that was made before is run as it is; of a rule one is made and shown first. An empty one is run, too: a
    schedule may wait for it."""
    from postroom.model.ids import Kind, is_handle

    if not args.yes:
        _require_terminal()
    plan_id = args.rule
    if not is_handle(plan_id, Kind.PLAN):
        plan = in_gateway(args, lambda gateway: _made_plan(gateway, args))
        print("\n".join(_planned(plan)))
        plan_id = plan.plan_id
    if not args.yes and input("Do exactly this? Type yes: ").strip().lower() != "yes":
        print(f"Nothing was changed. postroom rules run {plan_id} runs this plan later.")
        return 1
    view = in_gateway(args, lambda gateway: _carried_out(gateway, plan_id))
    print("\n".join(_ran(view)))
    return 0 if view.status != "stopped" and not view.failed else 1


async def _carried_out(gateway: Gateway, plan_id: str) -> RunView:
    from postroom.doors.cli.progress import Progress
    from postroom.service.rules.running import run_rule

    bar = Progress("rules")

    async def progress(done: int, total: int) -> None:
        bar(done, total)

    view = await run_rule(gateway, plan_id, progress=progress)
    bar.finish()
    return view


async def _undo(gateway: Gateway, args: argparse.Namespace) -> int:
    from postroom.service.organising.organise import undo

    view = await undo(gateway, args.rule)
    print(f"{view.succeeded} of {view.succeeded + view.failed} messages {view.done}")
    for item in view.results:
        if item.error is not None:
            print(f"{item.email_id}: {item.error.message}", file=sys.stderr)
    return 1 if view.failed else 0


async def _save(gateway: Gateway, args: argparse.Namespace) -> int:
    from postroom.service.rules import rules
    from postroom.service.rules.views import RuleView

    view = await rules.create_rule(gateway, _source(args.rule), dry_run=False, account=args.account, by_operator=True)
    rule_id = getattr(view, "rule_id", "")
    print(f"saved as {rule_id}")
    if isinstance(view, RuleView) and view.notices:
        print(f"its schedule starts after a first run: postroom rules run {rule_id}")
    return 0


async def _delete(gateway: Gateway, args: argparse.Namespace) -> int:
    from postroom.service.rules import rules

    view = await rules.delete_rule(gateway, (await _saved(gateway, args)).rule_id)
    print(f"deleted {view.rule_id} ({view.name})")
    return 0


async def _compile(gateway: Gateway, args: argparse.Namespace) -> int:
    from postroom.service.rules.server_side import compile_rule

    _, definition, account = await _definition(gateway, args)
    written = await compile_rule(gateway, definition, args.to, account=args.account or account)
    if written.text:
        print(written.text)
    for reason in written.lacking:
        print(f"cannot be expressed: {reason}", file=sys.stderr)
    for said in written.differences if written.text else ():
        print(f"note: {said}", file=sys.stderr)
    return 1 if written.lacking else 0


async def _upload(gateway: Gateway, args: argparse.Namespace) -> int:
    from postroom.service.rules.server_side import differences, remove_uploaded, upload_rule

    if args.remove:
        return _uploaded(await remove_uploaded(gateway, args.rule, account=args.account))
    _, definition, account = await _definition(gateway, args)
    done = _uploaded(await upload_rule(gateway, definition, account=args.account or account))
    for said in differences(definition, "sieve")[:1]:
        print(f"note: {said}", file=sys.stderr)
    return done


def _uploaded(view: Uploaded) -> int:
    names = ", ".join(view.names) or "none"
    print(f"rules of Postroom on the server of account {view.account}: {names}")
    if view.names and not view.is_running:
        print(f"The server does not run them. {view.notice}".strip(), file=sys.stderr)
        return 1
    return 0


async def _made_plan(gateway: Gateway, args: argparse.Namespace) -> PlanView:
    from postroom.service.rules import rules

    if _is_file(args.rule):
        source = _source(args.rule)
        return cast("PlanView", await rules.create_rule(gateway, source, account=args.account, by_operator=True))
    return await rules.plan_rule(gateway, (await _saved(gateway, args)).rule_id, account=args.account)


async def _definition(gateway: Gateway, args: argparse.Namespace) -> tuple[str, Definition, str | None]:
    """The rule's YAML, what it says, and the account of a saved one."""
    from postroom.service.rules.document import read_rule

    if _is_file(args.rule):
        source = _source(args.rule)
        return source, read_rule(source), None
    saved = await _saved(gateway, args)
    return saved.rule_yaml, read_rule(saved.rule_yaml), saved.account


async def _saved(gateway: Gateway, args: argparse.Namespace) -> RuleView:
    """By its id, or by its name where one account has it."""
    from postroom.model.errors import InvalidRequest
    from postroom.service.rules import rules

    page = await rules.list_rules(gateway, limit=100, account=args.account)
    found = [rule for rule in page.results if args.rule in (rule.rule_id, rule.name)]
    if len(found) != 1:
        known = ", ".join(f"{rule.rule_id} ({rule.name})" for rule in page.results) or "none"
        of = f" of account {args.account}" if args.account else ""
        raise InvalidRequest(f"There is no file and no saved rule {args.rule[:80]!r}. Saved rules{of}: {known}.")
    return found[0]


def _is_file(rule: str) -> bool:
    return rule == "-" or rule.endswith((".yaml", ".yml")) or Path(rule).is_file()


def _source(rule: str) -> str:
    from postroom.files.plain_file import read_below
    from postroom.model.errors import InvalidRequest
    from postroom.service.rules.yaml_parts import MAX_CHARS

    path, most = Path(rule).resolve(), 4 * MAX_CHARS
    try:
        raw = sys.stdin.buffer.read(most) if rule == "-" else read_below(path.parent, [path.name], rule, most)
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest(f"{rule} is not UTF-8.") from None


def _planned(view: PlanView) -> list[str]:
    from postroom.doors.cli import table

    rows = [
        (email.email_id, email.row.mailbox, email.row.sender, email.row.subject, ", ".join(email.actions))
        for email in view.results
    ]
    more = ["more messages match the rule than one run may change"] if view.has_more else []
    counts = f"{view.matched} messages, {view.action_count} actions; {view.examined} messages were looked at"
    return [*table.lines(("ID", "FOLDER", "FROM", "SUBJECT", "ACTIONS"), rows), counts, *more, *view.notices]


def _ran(view: RunView) -> list[str]:
    lines = [
        f"{item.email_id}: {item.skipped or (item.error.message if item.error else item.send_status)}"
        for item in view.results
        if not item.ok or item.send_status
    ]
    undo = [f"to reverse it: postroom rules undo {view.operation_id}"] if view.operation_id else []
    return [*lines, f"{view.status}: {view.message}", *undo]
