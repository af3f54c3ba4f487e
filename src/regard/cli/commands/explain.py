"""`regard explain`: one input, highlighted by each method's relevance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.audits.default_methods import expanded
from regard.cli.chat_options import answer_options, answer_record
from regard.cli.console import print_json, remarks, results
from regard.cli.example_input import input_options, one_example, row_label, row_label_line, row_labels_option
from regard.cli.model_options import (
    Columns,
    ModelChoice,
    checked_names,
    column_options,
    listed,
    model_options,
    out_option,
    own_methods,
    recording_options,
    remembered,
    split_option,
)
from regard.cli.progress import bar
from regard.cli.shared_options import seed_option
from regard.cli.verb import verb
from regard.errors import InputError, phrase
from regard.visible import shell_word

if TYPE_CHECKING:
    from regard.audits.explain import Explained

MOST_WINDOWS = 3
"""Maximum windows of a long text on a screen; `--json` has all of them."""


@verb(
    "explain",
    "regard explain bilstm --text 'a quiet, moving film'",
    "regard explain ./model --text 'a quiet, moving film' --method attention,leave_one_out,rollout:residual=0.3",
    "regard explain ./model --text 'unbelievably good' --units unit --json",
    "regard explain bilstm --text 'a quiet, moving film' --method attention,lime,integrated_gradients --compare",
    "regard explain digits --data digits --row 3",
    "regard explain ./vit --image photo.jpg --method attention,rollout,lrp,integrated_gradients",
    "regard explain whisper --audio speech.wav --method attention,occlusion:per=word",
    "regard explain ./model --data reviews.csv --method attention,lime --out runs/explained",
    "regard explain smollm2 --messages chat.json --answer 'Anna lives in Rome.' --span Rome --units source",
    "regard explain ./model --prompt 'Anna lives in' --answer ' Rome' --contrast ' Oslo' --method integrated_gradients",
)
@click.argument("model")
@input_options
@out_option()
@click.option("--limit", type=click.IntRange(1))
@click.option("--compare", is_flag=True)
@column_options
@split_option
@recording_options
@row_labels_option
@click.option("--method", default="attention,leave_one_out", show_default=True)
@click.option("--units", type=click.Choice(["word", "unit", "source"]), default="word", show_default=True)
@click.option("--metric")
@answer_options
@seed_option
@model_options
def command(
    model: str,
    text: str | None,
    image: Path | None,
    audio: Path | None,
    pair: str | None,
    data: str | None,
    row: int,
    out: Path | None,
    limit: int | None,
    compare: bool,
    method: str,
    units: str,
    metric: str | None,
    seed: int,
    as_json: bool,
) -> None:
    methods = expanded(own_methods("explainer", listed(method)) or [])
    checked_names("explainer", methods)
    metrics = _metrics(metric)
    checked_names("metric", metrics)
    record = answer_record()
    choice = ModelChoice.of_command(model)
    if record is not None and (text is not None or data is not None or out is not None):
        got = phrase("errors.cli.text_data_or_out_beside")
        raise InputError(phrase("errors.cli.messages_and_prompt"), expected=phrase("errors.cli.one_input"), got=got)
    if units == "source" and record is None:
        raise InputError(
            "--units source",
            expected=phrase("errors.cli.messages_file_or_prompt_text_b"),
            got=phrase("errors.common.neither"),
        )
    if out is not None:
        return _whole(choice, data, methods, out, limit=limit, seed=seed, as_json=as_json)
    example = None
    if record is None:
        example = one_example(text, pair, data, row, image=image, audio=audio)
    from regard.audits.explain import explain
    from regard.audits.repeatability import warning
    from regard.audits.resolve import unknown_words
    from regard.models.writing_steps import repeating_texts
    from regard.present.messages.messages import render, say

    with bar(remarks(), making=choice.making):
        live = choice.open()
    windows = live.windows(example) if example is not None else []
    label = row_label(live)
    inputs = (windows if as_json else windows[:MOST_WINDOWS]) if record is None else [record]
    by = "source" if units == "source" else "token"
    explanation = explain(live, inputs, methods, units=by, metrics=metrics, seed=seed)
    notes = (
        []
        if example is None
        else [
            *[text for text in [warning(live, explanation.examples[0])] if text],
            *live.notes,
            *unknown_words(live, explanation.examples),
            *repeating_texts(live, explanation.targets),
        ]
    )
    hears = example is not None and live.modality == "audio" and live.task == "sequence_to_sequence"
    if as_json:
        from regard.surveys.align import align

        timed = align(live, [example], use_labels=False).to_json() if hears and example is not None else {}
        more = {**({} if label is None else {"label": label}), **({"alignment": timed} if timed else {})}
        print_json({**_as_json(explanation, live.name), **more, "notes": notes})
    else:
        if len(windows) > 1 and live.task != "object_detection":  # an object of a picture is no part of it
            key = "term.explain.windows_more" if len(windows) > MOST_WINDOWS else "term.explain.windows"
            notes.insert(0, say(key, n=len(windows), shown=MOST_WINDOWS, more=len(windows) - MOST_WINDOWS))
        for note in notes:
            results().print(say("term.note", text=render(note)), markup=False, style="yellow")
        for line in row_label_line(label):
            results().print(line, markup=False)
        task = live.task if record is None else "answer"
        _show(explanation, live.name, task, words=units == "word", compare=compare)
        if hears and example is not None:
            from regard.present.terminal.alignment_view import alignment_view
            from regard.surveys.align import align

            results().print(alignment_view(align(live, [example], use_labels=False).to_json(), most=1))


def _metrics(metric: str | None) -> list[str]:
    """Return the metrics by name; "all" stands for every metric of this modality."""
    if metric == "all":
        from regard.registry import names

        return list(names("metric"))
    return own_methods("metric", listed(metric)) or []


def _whole(
    choice: ModelChoice,
    data: str | None,
    methods: list[str],
    out: Path,
    *,
    limit: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Explain every example of a dataset into a resumable run directory, without metrics or verdicts."""
    if data is None:
        raise InputError(
            "--out",
            expected="--data NAME",
            got=phrase("errors.cli.no_data"),
            remedy=phrase("errors.cli.drop_out_for_one_text"),
        )
    from regard.audits.audit import audit
    from regard.present.messages.messages import say
    from regard.present.report.report import write_report

    console = remarks()
    examples = Columns.of_command().read(data, limit=limit)
    with bar(console, making=choice.making) as progress_bar:
        live = choice.open()
        run = audit(
            live,
            examples,
            out=out,
            seed=seed,
            limit=limit or max(1, len(examples)),
            explainers=methods,
            metrics=[],
            experiments=[],
            labels=remembered("labels"),
            progress=progress_bar.examples,
            announce=lambda line: console.print(str(line), style="dim", markup=False),
            command_line=click.get_current_context().obj,
        )
    page = write_report(run, out / "report.html")
    count = len(run.examples())
    if as_json:
        print_json(
            {
                "run": str(out),
                "report": str(page),
                "examples": count,
                "methods": run.methods(),
                "seed": seed,
                "skipped": dict(run.skipped),
            }
        )
        return
    summary = say("term.explain.whole", n=count, methods=", ".join(run.methods()), seed=seed, out=out)
    results().print(summary, markup=False)
    results().print(say("term.explain.next", out=shell_word(out), page=page), markup=False)


def _shown(found: Explained, i: int) -> dict[str, Any]:
    """Return example i as the drawing functions expect it."""
    from regard.store.shard_result import units_to_json

    example = found.examples[i]
    return {"id": example.id, "inputs": dict(example.inputs), "units": units_to_json(found.units[i])}


def _as_json(found: Explained, model: str) -> dict[str, Any]:
    from regard.audits.conclusions.rank_agreement import agreements
    from regard.desk.case import selected
    from regard.present.messages.messages import say
    from regard.present.method_caveats import method_caveats
    from regard.present.summary import absorbed_shares
    from regard.present.trust_words import mark_json

    examples = []
    for i in range(len(found.examples)):
        fields = _shown(found, i)
        examples.append(
            {
                "text": fields["inputs"].get("text"),
                "answer": found.said(i),
                "target": found.targets[i],
                "probability": float(found.answers.probability[i]),
                "value": float(found.answers.value[i]),
                "units": fields["units"],
                "relevance": {m: r[i].tolist() for m, r in found.relevance.items()},
                "trust": {m: mark_json(row[i], fields["units"]) for m, row in found.marks.items()},
                "absorbed": {m: s for m, r in found.relevance.items() if (s := absorbed_shares(selected(r, [i])))},
                "scores": {m: {k: row[i] for k, row in table.items()} for m, table in found.scores.items()},
                "agreement": agreements(fields, {m: (r[i], r.signed) for m, r in found.relevance.items()}),
            }
        )
    signed = {m: r.signed for m, r in found.relevance.items()}
    return {
        "model": model,
        "seed": found.seed,
        "signed": signed,
        "examples": examples,
        "skipped": dict(found.skipped),
        "summed": list(found.summed),
        "caveat": say("joint").join(method_caveats(found.relevance)),
    }


def _score_table(found: Explained, i: int) -> Any:
    """Metrics down, methods across, for example i."""
    from regard.present.messages.messages import say
    from regard.present.terminal.terminal import plain_table

    methods = list(found.scores)
    metrics = list(dict.fromkeys(name for table in found.scores.values() for name in table))
    rows = [[name, *(_number(found.scores[m].get(name), i) for m in methods)] for name in metrics]
    heads = [say("term.explain.metric"), *methods]
    return plain_table(heads, rows, right=tuple(range(1, len(heads))))


def _number(values: tuple[float, ...] | None, i: int) -> str:
    return "-" if values is None or values[i] != values[i] else f"{values[i]:.3f}"


def _show(found: Explained, model: str, task: str, *, words: bool, compare: bool) -> None:
    from regard.audits.conclusions.rank_agreement import agreements
    from regard.audits.conclusions.word_units import gathered
    from regard.desk.case import selected
    from regard.present.answer_text import shown_answer
    from regard.present.messages.messages import render, say
    from regard.present.method_caveats import method_caveats
    from regard.present.number_units import objective, scale
    from regard.present.summary import absorbed_shares, incomplete
    from regard.present.terminal.comparison import agreement_table, comparison
    from regard.present.terminal.picture_overlay import picture_overlay
    from regard.present.terminal.terminal import drawing, key, strongest, strongest_bars
    from regard.present.trust_words import mark_line
    from regard.records import Spec
    from regard.registry import entry

    out = results()
    for i in range(len(found.examples)):
        example = _shown(found, i)
        in_words = example["units"]["place_kind"] == "span"
        answer, probability = found.said(i), float(found.answers.probability[i])
        kind = "contrast" if found.contrasted else "answer" if task == "answer" else "says"
        facts_of_answer = {"p": f"{probability:.3f}", "value": f"{float(found.answers.value[i]):+.2f}"}
        facts_of_answer = {"p": facts_of_answer["p"]} if kind == "says" else facts_of_answer
        says = say(f"term.explain.{kind}", model=model, said=shown_answer(answer, task), **facts_of_answer)
        if example["units"]["place_kind"] == "box" or "audio" in example["inputs"]:
            says = say("term.explain.picture", name=example["id"], says=says)
        out.print(says, markup=False, style="bold")
        if "object_box" in example["inputs"]:
            edges = dict(zip(("top", "left", "bottom", "right"), example["inputs"]["object_box"], strict=True))
            out.print(say("term.explain.object_box", **edges), markup=False, style="dim")
        if compare:
            whole = {
                m: (gathered(example, r[i]) if words and in_words else (example, r[i]), r.signed)
                for m, r in found.relevance.items()
            }
            display = next(iter(whole.values()))[0][0]
            columns = {m: (values, signed) for m, ((_, values), signed) in whole.items()}
            out.print(comparison(display, columns))
            out.print()
            out.print(agreement_table(agreements(display, columns)))
            for method, row in found.marks.items():
                out.print(f"{method}: {mark_line(row[i], example['units'])}", markup=False)
            continue
        for method, relevance in found.relevance.items():
            display, values = gathered(example, relevance[i]) if words and in_words else (example, relevance[i])
            out.print()
            plain = out.color_system is None  # a pipe, a file, or NO_COLOR
            out.print(method, markup=False, style="dim", end="\n" if plain else "  ")
            if not plain:
                out.print(key(signed=relevance.signed))
            overlay = None
            if example["units"]["place_kind"] == "box" and out.color_system in ("truecolor", "256"):
                overlay = picture_overlay(display, values, signed=relevance.signed)
            out.print(drawing(display, values, signed=relevance.signed) if overlay is None else overlay)
            ranking = strongest_bars if plain else strongest
            out.print(ranking(display, values, signed=relevance.signed))
            if method in found.marks:
                out.print(mark_line(found.marks[method][i], example["units"]), markup=False)
            facts = entry("explainer", Spec.parse("explainer", method).name).facts
            line = say("term.explain.numbers", scale=scale(facts, objective(task, answer), method))
            out.print(line, markup=False, style="dim")
            if (missed := incomplete(relevance, i)) is not None:
                warning = say("term.explain.incomplete", total=f"{missed[0]:+.2f}", whole=f"{missed[1]:+.2f}")
                out.print(warning, markup=False, style="yellow")
            if shares := absorbed_shares(selected(relevance, [i])):
                out.print(say("words.absorbed", method=method, **shares), markup=False, style="dim")
            if method in found.summed:
                out.print(say("term.explain.summed"), markup=False, style="dim")
        if any(found.scores.values()):
            out.print()
            out.print(_score_table(found, i))
    for name, why in found.skipped.items():
        out.print("\n" + say("term.explain.skipped", name=name, why=render(why)), markup=False, style="yellow")
    out.print()
    if words and any("token" in units.kind or "sub" in units.kind for units in found.units):
        out.print(say("term.explain.words"), markup=False, style="dim")
    out.print(say("term.explain.one"), markup=False, style="dim")
    for caveat in method_caveats(found.relevance):
        out.print(caveat, markup=False, style="dim")
