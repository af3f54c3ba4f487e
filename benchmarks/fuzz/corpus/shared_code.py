"""Shared files that name code: a Spec, a run, a policy, templates, model directories. None of that code may run."""

from __future__ import annotations

import json
import pickle
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from benchmarks.fuzz.case import Case, evil, evil_module
from benchmarks.fuzz.corpus.entry import Entries
from benchmarks.fuzz.materials import Materials
from benchmarks.fuzz.outcome import INPUT_CODES
from benchmarks.fuzz.targets.model_directories import CODES, Payload

ENTRIES = Entries()


@ENTRIES.past("a Spec whose method is code")
def _spec(originals: Materials, folder: Path) -> Case:
    code = evil_module(folder)
    params = {"text": "a film", "methods": [f"given:function={code}:make"], "edits": []}
    (folder / "spec.json").write_text(json.dumps({"kind": "edits", "name": "attention", "params": params}), "utf-8")
    words = ["view", str(originals.network), "--spec", str(folder / "spec.json"), "--html", str(folder / "v.html")]
    return Case([words])


def _run(name: str, change: dict[str, Any]) -> None:
    @ENTRIES.past(name)
    def make(originals: Materials, folder: Path) -> Case:
        run = folder / "run"
        shutil.copytree(originals.run, run, ignore=shutil.ignore_patterns("lock", "report.html"))
        code = evil_module(folder)
        model = _planted(originals, folder)
        with sqlite3.connect(run / "ledger.sqlite") as book:
            rows = book.execute("SELECT name, value FROM fact WHERE name IN ('manifest', 'identity')").fetchall()
            for fact, text in rows:
                about = json.loads(text)
                places = {"code": f"{code}:make", "model": str(model)}
                _renamed(about, {key: places.get(str(value), value) for key, value in change.items()})
                book.execute("UPDATE fact SET value = ? WHERE name = ?", (json.dumps(about), fact))
        book.close()
        page = str(folder / "view.html")
        return Case(
            [
                ["view", str(run), "--text", "a good film", "--html", page],
                ["metrics", str(run), "--metric", "decision_flip"],
                ["report", str(run), "--out", page],
            ],
            INPUT_CODES | {4},
        )


def _renamed(about: Any, change: dict[str, Any]) -> None:
    """Make the ledger name another model everywhere."""
    if isinstance(about, dict):
        if isinstance(about.get("spec"), dict):
            spec = about["spec"]
            spec["name"] = change["name"]
            spec["params"] = {**spec.get("params", {}), **{k: v for k, v in change.items() if k != "name"}}
        if isinstance(about.get("source"), str):
            about["source"] = change["name"]
    for inner in about.values() if isinstance(about, dict) else about if isinstance(about, list) else ():
        _renamed(inner, change)


def _planted(originals: Materials, folder: Path) -> Path:
    """A model directory with its own code."""
    model = folder / "model"
    shutil.copytree(originals.bert, model)
    evil_module(model)
    about = json.loads((model / "config.json").read_text("utf-8"))
    about["auto_map"] = {"AutoConfig": "evil.Config", "AutoModelForSequenceClassification": "evil.make"}
    about["model_type"] = "evil"
    (model / "config.json").write_text(json.dumps(about), "utf-8")
    return model


_run("a run whose model is a file with code", {"name": "code"})
_run("a run that trusts the code of its model", {"name": "model", "trust_remote_code": True})
_run("a run that wants a download", {"name": "nobody/nothing", "download": True, "trust_remote_code": True})


def _toml(name: str, file: str, content: str, *words: str) -> None:
    @ENTRIES.past(name)
    def make(originals: Materials, folder: Path) -> Case:
        code = evil_module(folder)
        (folder / file).write_text(content.replace("CODE", f"{code}:make"), "utf-8")
        places = {"NETWORK": str(originals.network), "RUN": str(originals.run), "FILE": str(folder / file)}
        return Case([[places.get(word, word) for word in words]], INPUT_CODES | {1}, silent=True)


_toml(
    "a policy whose method is code",
    "p.toml",
    '[[gate]]\nmetric = "comprehensiveness"\nmethod = "given:function=CODE"\nmin = 0.1\n',
    "gate",
    "RUN",
    "--policy",
    "FILE",
)
_toml(
    "a policy whose metric is code",
    "p.toml",
    '[[gate]]\nmetric = "given:function=CODE"\nmin = 0.1\n',
    "gate",
    "RUN",
    "--policy",
    "FILE",
)
_toml(
    "a template whose noise is code",
    "t.toml",
    '[[test]]\nname = "a"\nkind = "invariance"\ntemplate = "a film"\nnoise = "given:function=CODE"\n',
    "perturb",
    "NETWORK",
    "--tests",
    "FILE",
)


@ENTRIES.past("a model directory with code beside its weights")
def _directory(originals: Materials, folder: Path) -> Case:
    model = _planted(originals, folder)
    return Case([["capture", str(model), "--text", "a film"], ["support", str(model)]], CODES)


@ENTRIES.past("weights that are a pickle")
def _pickle(originals: Materials, folder: Path) -> Case:
    model = folder / "model"
    shutil.copytree(originals.bert, model, ignore=shutil.ignore_patterns("*.safetensors"))
    (model / "pytorch_model.bin").write_bytes(pickle.dumps(Payload(evil(folder))))
    return Case([["capture", str(model), "--text", "a film"]], CODES)


@ENTRIES.past("a model whose attention is fetched from a hub")
def _kernel(originals: Materials, folder: Path) -> Case:
    model = folder / "model"
    shutil.copytree(originals.bert, model)
    about = json.loads((model / "config.json").read_text("utf-8"))
    for key in ("attn_implementation", "_attn_implementation", "_attn_implementation_internal"):
        about[key] = "kernels-community/flash-attn"
    (model / "config.json").write_text(json.dumps(about), "utf-8")
    return Case([["capture", str(model), "--text", "a film"]], CODES)


@ENTRIES.past("a file whose name is a command")
def _name(originals: Materials, folder: Path) -> Case:
    path = folder / "$(touch CANARY);`touch CANARY`.csv"
    path.write_text("text,label\na film,pos\n", "utf-8")
    return Case([["perturb", str(path), "--limit", "3"]])
