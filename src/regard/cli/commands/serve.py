"""`regard serve`: a model as an HTTP service whose explanations carry their audit."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import echo, print_json, remarks, results
from regard.cli.model_options import ModelChoice, checked_names, listed, model_options
from regard.cli.progress import bar
from regard.cli.shared_options import seed_option
from regard.cli.verb import verb
from regard.errors import InputError, phrase
from regard.files import read_text

if TYPE_CHECKING:
    from regard.records import Example
    from regard.serve.service import Service
    from regard.store.run import Run

KEY = "REGARD_API_KEY"


@verb(
    "serve",
    "regard serve bilstm --run regard-runs/bilstm-reviews-quick-seed0",
    "regard serve ./model --run RUN --port 8080 --method attention",
    "regard serve ./model --method one_pass,leave_one_out --deadline 10 --queue 128",
    "regard serve ./model --run RUN --host 0.0.0.0 --api-key-file keys.txt",
    "regard serve bilstm --check",
)
@click.argument("model")
@click.option("--run", type=click.Path(path_type=Path))
@click.option("--name", default="")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option("--method", default="one_pass", show_default=True)
@click.option("--batch", type=click.IntRange(1), default=32, show_default=True)
@click.option("--queue", type=click.IntRange(1), default=256, show_default=True)
@click.option("--deadline", type=float, default=30.0, show_default=True)
@click.option("--body", metavar="SIZE", default="1MB", show_default=True)
@click.option("--api-key-file", type=click.Path(path_type=Path))
@click.option("--log", metavar="FILE", default="-", show_default=True)
@click.option("--log-texts", is_flag=True)
@click.option("--check", is_flag=True)
@seed_option
@model_options
def command(
    model: str,
    run: Path | None,
    name: str,
    host: str,
    port: int,
    method: str,
    batch: int,
    queue: int,
    deadline: float,
    body: str,
    api_key_file: Path | None,
    log: str,
    log_texts: bool,
    check: bool,
    seed: int,
    as_json: bool,
) -> None:
    from regard.files import parse_size
    from regard.serve.limits import ServiceLimits
    from regard.serve.server import open_server
    from regard.serve.service import open_service

    methods = _methods(method)
    keys = _keys(api_key_file)
    try:
        limits = ServiceLimits(queue=queue, batch=batch, deadline=deadline, body_bytes=parse_size(body))
    except ValueError:
        raise InputError("--body", expected=phrase("errors.cli.size_such_kb_or_mb"), got=body) from None
    stored_run = _stored(run)
    choice = ModelChoice.of_command(model)
    with bar(remarks(), making=choice.making):
        live = choice.open()
    service = open_service(live, stored_run, name=name, methods=methods, limits=limits, seed=seed)
    _show(service, stored_run, as_json=as_json, check=check)
    if check:
        service.drain()
        return
    with ExitStack() as files:
        server = open_server(service, host=host, port=port, keys=keys, log=_log(log, log_texts, files))
        from regard.present.messages.messages import say

        echo(say("term.serve.ready", address=server.address, name=service.name), error=as_json)
        server.run()


def _methods(text: str) -> list[str]:
    from regard.serve.service import preset_methods

    methods = [m for part in listed(text) or [] for m in (preset_methods(part) or (part,))]
    checked_names("explainer", methods)
    return list(dict.fromkeys(methods))


def _keys(file: Path | None) -> list[str]:
    lines = [os.environ.get(KEY, ""), *(read_text(file).splitlines() if file is not None else ())]
    keys = [line.strip() for line in lines if line.strip()]
    if file is not None and not keys:
        raise InputError(
            phrase("errors.common.file_place", place=file),
            expected=phrase("errors.cli.api_key_per_line"),
            got=phrase("errors.common.none"),
        )
    return keys


def _stored(path: Path | None) -> Run | None:
    if path is None:
        return None
    from regard.judge.verdicts import verdicts
    from regard.store.run import Run

    run = Run(path)
    return run if run.manifest.get("judgements") else run.with_judgements(verdicts(run))


def _log(name: str, texts: bool, files: ExitStack) -> Any:
    from regard.serve.request_log import RequestLog

    if name == "-":
        return RequestLog(sys.stderr, texts=texts)
    try:
        return RequestLog(files.enter_context(open(name, "a", encoding="utf-8")), texts=texts)
    except OSError as error:
        raise InputError(f"--log {name}", expected=phrase("errors.cli.file_append"), got=str(error)) from error


def _show(service: Service, run: Run | None, *, as_json: bool, check: bool) -> None:
    """Print the audit behind the service, and the cost of a request."""
    from regard.present.messages.messages import say
    from regard.serve.service import measured_cost, method_cost

    example = _sample(service, run)
    costs = {} if example is None else measured_cost(service, example, service.methods)
    if as_json:
        print_json({"name": service.name, "audit": dict(service.evidence.summary), "milliseconds": costs})
        return
    summary = service.evidence.summary
    if service.evidence.audited:
        line = say("term.serve.audited", run=summary["run"], verdict=summary["sentence"], n=summary["n"])
    else:
        line = say("term.serve.unaudited", fingerprint=str(summary["fingerprint"])[:12])
    results().print(line, markup=False, style="" if service.evidence.audited else "yellow")
    for name, milliseconds in costs.items():
        if name and milliseconds is None:
            results().print(say("term.serve.no_method", method=name), markup=False, style="yellow")
        elif name:
            line = say("term.serve.cost", method=name, cost=method_cost(name), ms=milliseconds)
            results().print(line, markup=False)
        else:
            results().print(say("term.serve.predict_cost", ms=milliseconds), markup=False)


def _sample(service: Service, run: Run | None) -> Example | None:
    """Return an audited input, else a short text; None for a model of another modality without an audit."""
    from regard.records import Example
    from regard.serve.service import WARM_TEXT

    for row in run.examples() if run is not None else ():
        if isinstance(row["inputs"].get("text"), str):
            return Example("sample", {k: v for k, v in row["inputs"].items() if isinstance(v, str)})
    return Example("sample", {"text": WARM_TEXT}) if service.model.modality == "text" else None
