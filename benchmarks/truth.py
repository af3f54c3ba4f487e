"""`python -m benchmarks.truth [--half dev|sealed|both] [--kind KIND ...] [--only NAME ...] [--grow]`: test the judge.

Builds every planted model of a half (or finds it in the cache), audits it as `regard audit` does, and compares the
verdicts with `truth.toml`. A run that was stopped goes on: models and evidence are kept in the cache, and only what
changed is made again. Prints, for each half, the confusion table (truth x said), two figures with Wilson intervals,
and for each kind of construction (those of the first zoo are "earlier") the share settled, the number wrong and the
mean number of examples used. Writes results/truth.json, and for the sealed half the table that every report shows.

The sealed half is not for tuning: every opening (every time that verdicts about it are made) is appended to
results/truth_openings.log. `--grow` builds models and evidence without asking the judge; that is no opening.
`make truth` runs the development half, `make truth-sealed` opens the sealed one. `--brief` judges what the brief
protocol of long inputs and large models leaves of the evidence: does the judge err more with it?
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import regard
from benchmarks.__main__ import commit
from regard.audits.audit import audit
from regard.audits.brief_protocol import RIVALS, SIZES
from regard.audits.rounds import PILOT, planned_looks, round_order
from regard.datasets.builtin.planted import planted
from regard.datasets.builtin.planted_texts import planted_texts
from regard.datasets.examples import Examples
from regard.explainers._references import BY_REMOVAL
from regard.files import cache_directory
from regard.judge.evidence import evidence_of
from regard.judge.judge import judge
from regard.judge.verdicts import further_awaited, headline_settled, verdicts
from regard.measures.intervals import wilson
from regard.message import decoded, encoded
from regard.models.adapter import TorchModel
from regard.models.open.load import load
from regard.planted.growing.grow import certificate_of
from regard.planted.growing.truth import EARLIER, QUESTIONS, Stand, Truth, truth_of, zoo
from regard.planted.wiring.build import plan_of
from regard.present.judge_error_rate import EXPERIMENTS, fingerprint, sources
from regard.records import Judgement, Score
from regard.store.run import Run

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "truth.json"
OPENINGS = HERE / "results" / "truth_openings.log"
SHIPPED = Path(regard.__file__).parent / "judge" / "sealed.json"
EXAMPLES = 200
OTHER_TEXTS = 1000
"""Added to a model's seed: its evidence is gathered on texts that neither training nor certificate saw."""
ANSWERS = ("holds", "fails", "mixed", "uninformative")
WRONG_BAR, POWER_BAR, CELLS_BAR = 0.03, 0.70, 150
COMMANDS = {"dev": "make truth", "sealed": "make truth-sealed"}
CONFIDENT = ("read as evidence", "for most inputs", "do not read", "nothing to read")


@dataclass(frozen=True)
class Row:
    """One planted model: its truth, the verdicts about it, and the number of examples they took."""

    stand: Stand
    truth: Truth
    said: Mapping[str, str]
    reading: str
    rules: Mapping[str, str]
    examples: int = EXAMPLES

    def cells(self) -> Iterable[tuple[str, str, str]]:
        """Return (question, truth, verdict) of scored cells: neither open ones nor questions not to be asked."""
        for q in QUESTIONS:
            if self.truth.cells[q] != "open" and (q not in self.truth.silenced or self.said[q] in ("holds", "fails")):
                yield q, self.truth.cells[q], self.said[q]

    def to_json(self) -> dict[str, object]:
        return {
            "model": self.stand.key,
            "kind": self.stand.kind,
            "truth": dict(self.truth.cells),
            "said": dict(self.said),
            "rules": dict(self.rules),
            "readings": list(self.truth.readings),
            "reading": self.reading,
            "examples": self.examples,
            "left_out": encoded(self.truth.left_out),
        }


# ---------------------------------------------------------------------- evidence


def texts(stand: Stand, model: TorchModel, n: int) -> Examples:
    about = model.traits.config
    seed = int(str(about.get("seed", 0))) + OTHER_TEXTS
    plan = plan_of(model)
    if plan is not None:
        return plan.draw(n, seed)
    if "task" not in about:  # set by hand, on the texts of the data set `planted`
        return planted(n=n, seed=seed, length=12)
    drawn = planted_texts(n=2 * n, seed=seed, size=about["size"], task=about["task"])  # type: ignore[arg-type]
    # texts without evidence and a label by lot are there to be trained on: nothing is true of what they are read by
    kept = [e for e in drawn if e.slices["evidence"] == "yes" or about["task"] == "absence"]
    return drawn.keep(kept[:n])


def evidence(stand: Stand, n: int = EXAMPLES, out: Path | None = None) -> tuple[Run, TorchModel]:
    """Return the run of the model's audit (experiments only), cached while the code that makes evidence is the same."""
    model = load(stand.key, device="cpu")
    assert isinstance(model, TorchModel)
    about = texts(stand, model, n).fingerprint
    told = {"head": stand.head, "texts": about, "model": model.fingerprint, "code": _code()}
    digest = hashlib.blake2b(json.dumps([stand.key, told], sort_keys=True).encode(), digest_size=8).hexdigest()
    path = out or cache_directory() / "truth" / f"{stand.name}-{digest}"
    if (path / "ledger.sqlite").is_file() and Run(path).manifest.get("status") == "complete":
        return Run(path), model
    head = "" if stand.head is None else f":heads={stand.head}"
    experiments = [f"{name}{head}" for name in EXPERIMENTS]
    run = audit(
        model, texts(stand, model, n), out=path, explainers=["random"], metrics=[], experiments=experiments, keep=0,
        budget="none",
    )  # fmt: skip
    return run, model


def _code() -> str:
    """Return the hash of the files that make evidence."""
    root = Path(regard.__file__).parent
    files = [root / "experiments" / f"{name}.py" for name in ("_map", "_rankings", *EXPERIMENTS)]
    files += [root / "models" / "ask" / "patching.py", root / "explainers" / "_alignment.py"]
    files += [root / "measures" / f"{name}.py" for name in ("exclusivity", "exclusivity_of_many")]
    return fingerprint({str(file.relative_to(root)): file.read_text("utf-8") for file in files})


def judged(stand: Stand, run: Run, model: TorchModel, *, rounds: bool = True, brief: bool = False) -> Row:
    """Compare verdicts with the truth. rounds: as an audit with a budget gives them, else from all examples."""
    (judgement,) = [at_stopping(run, brief=brief)] if rounds else verdicts(run)
    return row(stand, truth_of(stand.name, certificate_of(model)), judgement)


def brief_evidence(findings: Sequence[Score]) -> list[Score]:
    """The findings that the brief protocol would have made: fewer rankings, and sizes, of the units to remove."""
    rankings = list(dict.fromkeys(score.method for score in findings if score.metric == "pointing"))
    rival = next((name for name in RIVALS if name in rankings), "")
    removals = [name for name in rankings if name.startswith(BY_REMOVAL)]
    rankings_of_brief = {"attention", "random:0", rival, *removals[: 1 if rival else 2]}
    brief: list[Score] = []
    for score in findings:
        if score.metric == "pointing":
            if score.method not in rankings_of_brief:
                continue
            columns = [i for i, size in enumerate(score.grid) if size in SIZES]
            curves = {name: np.asarray(curve)[:, columns] for name, curve in score.curves.items()}
            score = replace(score, curves=curves, grid=tuple(score.grid[i] for i in columns))
        brief.append(score)
    return brief


def at_stopping(run: Run, *, brief: bool = False) -> Judgement:
    """Return the judgement at the look at which an audit would have stopped: nothing to wait for, or no examples left.

    Replays the rounds on the evidence of all examples, so that a change of the judge needs no new evidence.
    """
    examples, manifest = run.examples(), run.manifest
    (judgement,) = verdicts(run)
    decided = [e for e in examples if isinstance(e["target"], int) and e["units"] is not None]
    rows = [{"id": e["id"], "target": e["target"], "length": len(e["units"]["names"])} for e in decided]
    order = round_order(rows, int(manifest["seed"]))
    looks = planned_looks(PILOT, len(order))
    findings, defects = [*run.findings()], (manifest.get("preconditions") or {}).get("defects", [])
    findings = brief_evidence(findings) if brief else findings
    labels = manifest["model"].get("labels") or []
    for look in looks:
        names = {*order[:look]}
        evidences = evidence_of(
            [e for e in decided if e["id"] in names],
            findings,
            defects=defects,
            labels=labels,
            schedule={"looks": looks, "available": len(order)},
        )
        if not evidences:  # the weights themselves show that there is nothing to read, and no experiment was made
            break
        judgement = judge(evidences[0])
        if headline_settled([judgement]) and not further_awaited([judgement], len(order)):
            break
    return judgement


def row(stand: Stand, truth: Truth, judgement: Judgement) -> Row:
    said = {v.question: v for v in judgement.verdicts if v.question in QUESTIONS}
    answers = {q: str(said[q].answer) if q in said else "uninformative" for q in QUESTIONS}
    rules = {q: said[q].rule for q in said}
    return Row(
        stand=stand,
        truth=truth,
        said=answers,
        reading=judgement.reading,
        rules=rules,
        examples=judgement.n,
    )


# ---------------------------------------------------------------------- scores


def scored(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the confusion tables and the two figures."""
    kept = [r for r in rows if not r.truth.left_out]
    cells = [cell for r in kept for cell in r.cells()]
    tables = {q: _table([(t, s) for name, t, s in cells if name == q]) for q in QUESTIONS}
    wrong = [(t, s) for _, t, s in cells if s in ("holds", "fails") and s != t]
    decidable = [(t, s) for _, t, s in cells if t in ("holds", "fails")]
    right = sum(t == s for t, s in decidable)
    told = [r for r in kept if r.truth.readings]
    bad = [r for r in told if r.reading in CONFIDENT and r.reading not in r.truth.readings]
    return {
        "models": len(kept), "left_out": {r.stand.key: encoded(r.truth.left_out) for r in rows if r.truth.left_out},
        "cells": len(cells), "tables": {"all": _table([(t, s) for _, t, s in cells]), **tables},
        "wrong": _figure(len(wrong), len(cells)), "power": _figure(right, len(decidable)),
        "wrong_readings": _figure(len(bad), len(told)),
        "right_readings": _figure(sum(r.reading in r.truth.readings for r in told), len(told)),
        "kinds": {kind: of_kind([r for r in kept if r.stand.kind == kind]) for kind in kinds(kept)},
    }  # fmt: skip


def kinds(rows: Sequence[Row]) -> list[str]:
    """Kinds of constructions, in table order."""
    return list(dict.fromkeys(row.stand.kind for row in rows))


def of_kind(rows: Sequence[Row]) -> dict[str, Any]:
    """Count the cells and readings of one kind. settled: answered, of those with a known answer."""
    cells = [cell for row in rows for cell in row.cells()]
    known = [(truth, answer) for _, truth, answer in cells if truth in ("holds", "fails", "mixed")]
    confident = [(truth, answer) for _, truth, answer in cells if answer in ("holds", "fails")]
    readings = [row for row in rows if row.truth.readings]
    wrong_readings = [r for r in readings if r.reading in CONFIDENT and r.reading not in r.truth.readings]
    return {
        "models": len(rows),
        "cells": len(cells),
        "settled": _figure(sum(answer != "uninformative" for _, answer in known), len(known)),
        "right": _figure(sum(truth == answer for truth, answer in known), len(known)),
        "wrong": sum(truth != answer for truth, answer in confident),
        "right_readings": sum(r.reading in r.truth.readings for r in readings),
        "wrong_readings": len(wrong_readings),
        "readings": len(readings),
        "examples": float(np.mean([row.examples for row in rows])),
    }


def _table(pairs: Sequence[tuple[str, str]]) -> dict[str, dict[str, int]]:
    return {t: {s: sum(p == (t, s) for p in pairs) for s in ANSWERS} for t in ANSWERS}


def _figure(count: int, n: int) -> dict[str, float | int]:
    low, high = wilson(count, n) if n else (0.0, 1.0)
    return {"count": count, "n": n, "share": count / n if n else 0.0, "low": float(low), "high": float(high)}


def met(found: Mapping[str, Any]) -> bool:
    power = found["power"]["share"] >= POWER_BAR
    return bool(found["wrong"]["high"] <= WRONG_BAR and found["cells"] >= CELLS_BAR and power)


def shown(half: str, found: Mapping[str, Any], rows: Sequence[Row]) -> str:
    lines = [f"{half} half: {found['models']} models, {found['cells']} cells (truth x said)"]
    for name, counts in found["tables"].items():
        if sum(sum(c.values()) for c in counts.values()):
            lines.append(f"  {name:10} {'':14}" + "".join(f"{s:>15}" for s in ANSWERS))
            lines += [
                f"  {'':10} {t:14}" + "".join(f"{c[s]:15}" for s in ANSWERS)
                for t, c in counts.items()
                if sum(c.values())
            ]
    for key, why in found["left_out"].items():
        lines.append(f"  left out: {key}: {decoded(why)}")
    for r in rows:
        for q, t, s in r.cells():
            if s in ("holds", "fails") and s != t and not r.truth.left_out:
                lines.append(f"  WRONG: {r.stand.key} {q}: {t} by construction, said {s} ({r.rules.get(q)})")
        if r.truth.readings and r.reading not in r.truth.readings and not r.truth.left_out:
            lines.append(f"  reading: {r.stand.key}: {r.reading}, right would be {' or '.join(r.truth.readings)}")
    for name, what in (
        ("wrong", "wrong confident verdicts"), ("power", "decidable cells decided rightly"),
        ("wrong_readings", "wrong confident readings"), ("right_readings", "right readings"),
    ):  # fmt: skip
        f = found[name]
        lines.append(f"  {what}: {f['count']} of {f['n']} = {f['share']:.3f} (95 %: {f['low']:.3f} to {f['high']:.3f})")
    lines.append(
        f"  {'kind':14}{'models':>8}{'cells':>7}{'settled':>9}{'right':>7}{'wrong':>7}{'examples':>10}  readings"
    )
    for kind, of in found["kinds"].items():
        shares = f"{of['settled']['share']:9.2f}{of['right']['share']:7.2f}{of['wrong']:7}{of['examples']:10.0f}"
        readings = f"{of['right_readings']} of {of['readings']} right, {of['wrong_readings']} wrong"
        lines.append(f"  {kind:14}{of['models']:8}{of['cells']:7}{shares}  {readings}")
    return "\n".join(lines)


# ---------------------------------------------------------------------- the command


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth", description=__doc__)
    parser.add_argument("--half", choices=("dev", "sealed", "both"), default="dev")
    parser.add_argument("--limit", type=int, help="only the first N models of a half")
    parser.add_argument("--only", nargs="*", default=[], help="only these constructions")
    parser.add_argument(
        "--kind", nargs="*", default=[], help='only these kinds; "earlier": the first zoo; "new": the rest'
    )
    parser.add_argument("--size", choices=("s", "m", "l"), help="only models of this size")
    parser.add_argument(
        "--seeds", nargs="*", type=int, default=[], help="other models of the same constructions, with these seeds"
    )
    parser.add_argument("--n", type=int, default=EXAMPLES, help="texts per audit")
    parser.add_argument("--all-examples", action="store_true", help="judge all texts at once instead of in rounds")
    parser.add_argument("--brief", action="store_true", help="judge what the brief protocol leaves of the evidence")
    parser.add_argument("--grow", action="store_true", help="models and evidence only; the judge is not asked")
    asked = parser.parse_args(arguments)
    part = asked.only or asked.limit or asked.size or (asked.kind and not asked.seeds)
    stored = not (part or asked.grow or asked.all_examples) and asked.n == EXAMPLES
    whole = stored and not asked.seeds
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    good = True
    for half in ("dev", "sealed") if asked.half == "both" else (asked.half,):
        stands = [
            s for s in with_seeds(zoo(half), asked.seeds)
            if (not asked.only or s.name in asked.only) and asked.size in (None, s.params.get("size"))
            and (not asked.kind or s.kind in asked.kind or ("new" in asked.kind and s.kind != EARLIER))
        ][: asked.limit]  # fmt: skip
        if half == "sealed" and not asked.grow:
            _opened(len(stands), arguments)
        rows = []
        for at, stand in enumerate(stands):
            start, cpu = time.monotonic(), time.process_time()
            run, model = evidence(stand, asked.n)
            spent = f"{time.monotonic() - start:.0f} s, {time.process_time() - cpu:.0f} s CPU"
            if asked.grow:
                print(f"{at + 1}/{len(stands)} {stand.key} ({spent})", flush=True)
                continue
            rows.append(judged(stand, run, model, rounds=not asked.all_examples, brief=asked.brief))
            said = rows[-1].reading if half == "dev" or stored else "..."
            print(f"{at + 1}/{len(stands)} {stand.key}: {said} ({spent})", flush=True)
        if asked.grow:
            continue
        found = scored(rows)
        print(shown(half, found, rows), flush=True)
        good &= met(found) if half == "sealed" else True
        if stored:
            command = COMMANDS[half] if whole and not asked.brief else f"python -m benchmarks.truth {_told(arguments)}"
            about = {"date": _now(), "commit": commit(), "command": command, "examples": asked.n}
            key = "_".join((half, *asked.kind, *map(str, asked.seeds), *(["brief"] if asked.brief else [])))
            results[key] = {**about, **found, "rows": [r.to_json() for r in rows]}
            _write(RESULTS, results)
        if whole and half == "sealed" and not asked.brief:
            _write(SHIPPED, {**about, **found, "openings": openings(), "sources": sources()})
    return 0 if good else 1


def with_seeds(stands: Sequence[Stand], seeds: Sequence[int]) -> list[Stand]:
    """Models of the same constructions and sizes with these seeds instead of their own; the same ones for no seeds.

    The development half of the first zoo has three open cells of 139, too few to tell two rules apart. And a sealed
    half that was opened before is no test of rules that were changed since; its constructions with new seeds are.
    """
    if not seeds:
        return list(stands)
    trained = [stand for stand in stands if "seed" in stand.params]
    return [replace(stand, params={**stand.params, "seed": seed}) for stand in trained for seed in seeds]


def _opened(models: int, arguments: Sequence[str] | None) -> None:
    """Log an opening of the sealed half before it happens."""
    OPENINGS.parent.mkdir(exist_ok=True)
    with OPENINGS.open("a", encoding="utf-8") as log:
        log.write(f"{_now()} {commit()} {models} models: python -m benchmarks.truth {_told(arguments)}\n")


def _told(arguments: Sequence[str] | None) -> str:
    return shlex.join(sys.argv[1:] if arguments is None else arguments)


def openings() -> int:
    return len(OPENINGS.read_text("utf-8").splitlines()) if OPENINGS.is_file() else 0


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(value, indent=1) + "\n", "utf-8")
    os.replace(fresh, path)


if __name__ == "__main__":
    sys.exit(main())
