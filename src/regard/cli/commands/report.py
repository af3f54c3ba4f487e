"""`regard report`: rewrite the report of a run in any format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import clean, print_json, results, warn_without_font
from regard.cli.model_options import out_option
from regard.cli.verb import verb
from regard.errors import EnvironmentProblem, InputError, RegardError, phrase
from regard.files import read_bytes

if TYPE_CHECKING:
    from regard.audits.conclusions.run_facts import RunReader
    from regard.records import Json
    from regard.store.run import Run

FORMS = ("html", "md", "json", "pdf", "evidence", "card")
ENDINGS = {"evidence": "zip", "card": "md"}
"""File endings of formats that are not endings themselves."""


@verb(
    "report",
    "regard report regard-runs/bilstm-reviews-quick-seed0",
    "regard report RUN --out elsewhere.html",
    "regard report RUN --format md",
    "regard report RUN --format pdf --lang zh",
    "regard report RUN --format pdf --appendix",
    "regard report RUN --format json --out numbers.json",
    "regard report RUN --format card",
    "regard report RUN --format evidence --policy policy.toml --sign ~/.ssh/id_ed25519",
    "regard report RUN --format evidence --baseline LAST_RUN --example 17 --example 23",
    "regard report RUN --redact --out shared.html",
)
@click.argument("run", type=click.Path(path_type=Path))
@out_option()
@click.option("--format", "form", type=click.Choice(FORMS), default="html", show_default=True)
@click.option("--appendix", is_flag=True)
@click.option("--redact", is_flag=True)
@click.option("--policy", type=click.Path(path_type=Path))
@click.option("--baseline", type=click.Path(path_type=Path))
@click.option("--sign", type=click.Path(path_type=Path))
@click.option("--intended-use", default="", metavar="TEXT")
@click.option("--example", "examples", multiple=True)
def command(
    run: Path,
    out: Path | None,
    form: str,
    appendix: bool,
    redact: bool,
    policy: Path | None,
    baseline: Path | None,
    sign: Path | None,
    intended_use: str,
    examples: tuple[str, ...],
    as_json: bool,
) -> None:
    from regard.present.messages.messages import say
    from regard.present.report.redaction import Redacted

    if appendix and form != "pdf":
        raise InputError("--appendix", expected="--format pdf", got=f"--format {form}")
    if form != "evidence" and (policy or baseline or sign or intended_use or examples):
        got = f"--format {form}"
        raise InputError(
            "--policy, --baseline, --sign, --intended-use, --example", expected="--format evidence", got=got
        )
    from regard.audits.answers.result import LINES

    if (run / LINES).is_file():
        _report_answers(run, out, form, redact=redact, as_json=as_json)
        return
    stored_run = _judged(run)
    stem = {"evidence": "evidence", "card": "card"}.get(form, "report") + ("-redacted" if redact else "")
    path = out or run / f"{stem}.{ENDINGS.get(form, form)}"
    shown_run: RunReader = Redacted(stored_run) if redact else stored_run
    if form == "evidence":
        from regard.present.evidence.dossier import Beside, DossierOptions
        from regard.present.evidence.evidence_files import evidence_files
        from regard.store.evidence_archive import write_archive

        earlier = None if baseline is None else _judged(baseline)
        rules = _planned_policy(stored_run) if policy is None else read_bytes(policy)
        beside = Beside(
            baseline=Redacted(earlier) if earlier is not None and redact else earlier,
            policy=rules,
            gate=None if rules is None else _gated(run, rules, policy, baseline),
        )
        write_archive(path, evidence_files(shown_run, DossierOptions(intended_use, examples or 10), beside), key=sign)
    else:
        _write(shown_run, path, form, appendix=appendix)
    if form in ("html", "pdf", "evidence"):
        warn_without_font()
    if as_json:
        print_json({"report": str(path), "status": stored_run.manifest["status"], "bytes": path.stat().st_size})
    else:
        results().print(say("words.report", path=path), markup=False, soft_wrap=True)


def _report_answers(run: Path, out: Path | None, form: str, *, redact: bool, as_json: bool) -> None:
    """Write the report of an answer audit."""
    from regard.audits.answers.result import read_answer_audit
    from regard.present.messages.messages import say

    if form not in ("html", "json"):
        raise InputError("--format", expected=phrase("errors.cli.html_or_json_for_answer"), got=form)
    result = read_answer_audit(run)
    path = out or run / f"{'report-redacted' if redact else 'report'}.{form}"
    (result.redacted() if redact else result).save(path)
    if as_json:
        print_json({"report": str(path), "status": result.status, "bytes": path.stat().st_size})
    else:
        results().print(say("words.report", path=path), markup=False, soft_wrap=True)


def _judged(path: Path) -> Run:
    """Return the run with verdicts by the current rules, stored in it if possible."""
    from regard.judge.verdicts import verdicts
    from regard.store.run import Run

    stored_run = Run(path)
    try:
        verdicts(stored_run, keep=True)
    except EnvironmentProblem:  # nobody can write there: they are computed for this report alone
        return stored_run.with_judgements(verdicts(stored_run))
    except RegardError:  # a run that is still going on keeps the verdicts it has
        return stored_run
    return Run(path)


def _planned_policy(run: Run) -> bytes | None:
    """Policy in the plan of the run; None if there is none."""
    planned = ((run.manifest.get("plan") or {}).get("plan") or {}).get("policy")
    return str(planned["text"]).encode() if planned else None


def _gated(run: Path, rules: bytes, place: Path | None, baseline: Path | None) -> dict[str, Json]:
    """Result of a policy, as `regard gate --json` prints it. place: its file, None if the plan holds it."""
    from regard.gate.gate import gate
    from regard.gate.policy import parse_policy, read_policy

    policy = read_policy(place) if place is not None else parse_policy(rules.decode())
    return gate(run, policy, baseline=baseline).to_json()


def _write(run: RunReader, path: Path, form: str, *, appendix: bool) -> None:
    from regard.store.blobs import write_output

    if form == "html":
        from regard.present.report.report import write_report

        write_report(run, path)
    elif form == "pdf":
        from regard.present.report.printing import write_pdf

        write_pdf(run, path, appendix=appendix)
    elif form == "md":
        from regard.present.report.as_markdown import run_markdown

        write_output(path, run_markdown(run).encode())
    elif form == "card":
        from regard.present.report.as_card import run_card

        write_output(path, run_card(run).encode())
    else:
        import json

        from regard.present.report.as_json import run_json

        write_output(path, (json.dumps(clean(run_json(run)), indent=2, ensure_ascii=False) + "\n").encode())
