"""`regard plan`: settings, thresholds and data of an audit, written and hashed before it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from regard.cli.audit_flags import audit_flags, options_from
from regard.cli.console import clean, print_json, remarks, results
from regard.cli.model_options import DEFAULT_MODEL, ModelChoice, out_option
from regard.cli.progress import bar
from regard.cli.verb import verb
from regard.errors import InputError, phrase
from regard.files import read_bytes
from regard.visible import shell_word


@verb(
    "plan",
    "regard plan bilstm --budget 10m --out plan.json",
    "regard plan ./model --data reviews.csv --policy policy.toml --intended-use 'sort reviews; no decision on persons'",
    "regard plan bilstm --seed 1 --out plan.json",
)
@click.argument("model", required=False)
@click.option("--data", metavar="DATA")
@out_option()
@click.option("--policy", type=click.Path(path_type=Path))
@click.option("--intended-use", default="", metavar="TEXT")
@audit_flags
def command(
    model: str | None,
    data: str | None,
    out: Path | None,
    policy: Path | None,
    intended_use: str,
    as_json: bool,
    **values: Any,
) -> None:
    from regard.audits.preregistration import preregister
    from regard.present.messages.messages import say
    from regard.store.blobs import write_output

    source, options, path = model or DEFAULT_MODEL, options_from(values), out or Path("plan.json")
    if options.task == "answer":
        raise InputError("plan", expected=phrase("errors.cli.audit_explanations"), got="--task answer")
    if path.exists():
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.common.new_file"),
            got=phrase("errors.cli.one_that_exists"),
            remedy=phrase("errors.common.another_out"),
        )
    rules = None
    if policy is not None:
        from regard.gate.policy import read_policy

        read_policy(policy)  # a policy that cannot be read is found now
        rules = policy.name, read_bytes(policy)
    with bar(remarks(), making=ModelChoice(source, options.device, options.task, options.overflow).making):
        plan = preregister(source, data, options, policy=rules, intended_use=intended_use)
    write_output(path, (json.dumps(clean(plan), indent=2, ensure_ascii=False) + "\n").encode())
    if as_json:
        print_json({"plan": str(path), "sha256": plan["sha256"]})
        return
    results().print(say("term.plan.written", path=path, digest=plan["sha256"]), markup=False, soft_wrap=True)
    results().print(say("term.plan.next", path=shell_word(path)), markup=False, soft_wrap=True)
