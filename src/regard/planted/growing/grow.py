"""Build models from recipes: train on first use, then load from the cache."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.datasets.builtin.planted import SHORTCUTS
from regard.datasets.builtin.planted_texts import FILLING, KEYS, Size, planted_texts, words
from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel, Traits
from regard.models.open.huggingface import task_row
from regard.models.read.text import Alphabet, TextReader, Tokens
from regard.networks.vocabulary import MASK, PAD, SPECIALS, UNK, Vocabulary
from regard.planted.growing.certificate import TEXTS, VERSION, certificate
from regard.planted.growing.heads import Headed
from regard.planted.growing.lessons import lessons
from regard.planted.growing.networks import Planted
from regard.planted.growing.recipe import WIDTH, Recipe
from regard.planted.growing.rows import Marked
from regard.planted.wiring.build import plan_of, wired_certificate
from regard.records import Json
from regard.training.cache import built_once
from regard.training.loop import Settings, fit, seeded

TRAIN, DEV = 1920, 256
LOUD = 0.3
"""Maximum that noise adds to a logit."""


def grown(name: str, recipe: Recipe, size: Size, seed: int) -> TorchModel:
    """Build the model of a recipe; `name` is its construction."""
    folder = home(name, recipe, size, seed)
    network = _network(recipe, size)
    network.load_state_dict(load_file(folder / "model.safetensors"))
    return ready(network, name, size, recipe.to_json(size, seed), lead=isinstance(network, Headed))


def home(name: str, recipe: Recipe, size: Size, seed: int) -> Path:
    """Return the directory of weights and certificate, training first if needed."""

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        network, facts = _trained(recipe, size, seed)
        save_file({n: t.contiguous() for n, t in network.state_dict().items()}, out / "model.safetensors")
        _certify(out, facts)
        return {}

    return built_once(f"planted-{name}", recipe.to_json(size, seed), ("torch",), build)


def certificate_of(model: TorchModel) -> dict[str, Any] | None:
    """Return the certificate of a trained or wired model; None for another model set by hand."""
    if plan_of(model) is not None:
        return wired_certificate(model)
    about = dict(model.traits.config)
    name, size, seed = about.pop("planted"), about.pop("size", None), about.pop("seed", None)
    if about.pop("version", None) is None:
        return None
    recipe = Recipe(**about)  # type: ignore[arg-type]
    folder = home(str(name), recipe, size, int(seed))  # type: ignore[arg-type]
    facts: dict[str, Any] = json.loads((folder / "certificate.json").read_text("utf-8"))
    if facts.get("version") != VERSION:
        assert isinstance(model.module, (Planted, Headed))
        facts = _certificate(model.module, recipe, size, int(seed))  # type: ignore[arg-type]
        _certify(folder, facts)
    return facts


def _certify(folder: Path, facts: Mapping[str, Json]) -> None:
    """Write the certificate atomically, since another process may be reading it."""
    fresh = folder / f"certificate.{os.getpid()}.new"
    fresh.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    os.replace(fresh, folder / "certificate.json")


def vocabulary(size: Size) -> Vocabulary:
    return Vocabulary((*SPECIALS, *words(size)))


def deciding(recipe: Recipe, size: Size) -> list[list[int]]:
    """Return the decisive words as token ids, by class."""
    words = vocabulary(size).words
    table: tuple[tuple[str, ...], ...] = KEYS if recipe.task == "three" else KEYS[:2]
    if recipe.task == "shortcut":
        table = tuple((day,) for day in SHORTCUTS)
    return [[words.index(w) for w in some] for some in table]


def _network(recipe: Recipe, size: Size) -> Planted | Headed:
    kind = Headed if recipe.encoder == "transformer" else Planted
    return kind(recipe, len(vocabulary(size)), 3 if recipe.task == "three" else 2, WIDTH[size]).eval()


def _trained(recipe: Recipe, size: Size, seed: int) -> tuple[Planted | Headed, dict[str, Json]]:
    with seeded(seed, "planted", size):
        network = _network(recipe, size)
    train, dev = _rows(recipe, size, seed, "train", TRAIN), _rows(recipe, size, seed, "dev", DEV)
    _plant(network, recipe, size, seed)
    hide = recipe.hide or recipe.pull == "one_sided"
    terms = lessons(network, pull=bool(recipe.pull), hide=hide, entropy=recipe.entropy, silence=recipe.silence)
    settings = Settings(
        epochs=recipe.epochs,
        batch_size=64,
        rate=3e-3 if isinstance(network, Headed) else 1e-2,
        patience=recipe.epochs,
        warmup=0.05,
        seed=seed,
    )
    # texts without evidence have labels by lot, so that accuracy is no guide: the loss with all of its terms is
    fit(network, train, dev, terms, settings, by_loss=True, what="planted")
    _finish(network, recipe, size)
    return network, _certificate(network, recipe, size, seed)


def _rows(recipe: Recipe, size: Size, seed: int, split: str, n: int) -> Marked:
    words = vocabulary(size)
    lead = [len(words)] if recipe.encoder == "transformer" else []
    data = planted_texts(split=split, n=n, seed=seed, size=size, task=recipe.task)
    return Marked.of(data, words, lead, recipe.pull, recipe.hide)


def _certificate(network: Planted | Headed, recipe: Recipe, size: Size, seed: int) -> dict[str, Json]:
    return certificate(network, _rows(recipe, size, seed, "test", TEXTS), deciding(recipe, size), FILLING[size])


def _plant(network: Planted | Headed, recipe: Recipe, size: Size, seed: int) -> None:
    """Set weights by hand before training."""
    if isinstance(network, Headed):
        for numbers_of_class in deciding(recipe, size):
            network.evidence[numbers_of_class] = True
        return
    if recipe.noise:
        rng = keyed_rng(seed, "noise")
        by_class = deciding(recipe, size)
        numbers = torch.from_numpy(rng.choice([-LOUD, LOUD], (len(by_class[0]), 1)).astype(np.float32))
        numbers[0], numbers[1] = -LOUD, LOUD  # both signs are there
        for numbers_of_class in by_class:
            network.hum[numbers_of_class] = numbers


def _finish(network: Planted | Headed, recipe: Recipe, size: Size) -> None:
    """Set weights by hand after training."""
    if not isinstance(network, Planted):
        return
    network.scale.fill_(recipe.scale)
    if recipe.odd_mask:
        with torch.no_grad():
            keyword = deciding(recipe, size)[1][0]
            network.embedding.weight[MASK] = 1.3 * network.embedding.weight[keyword]


def ready(network: nn.Module, name: str, size: Size, about: Mapping[str, Json], *, lead: bool = False) -> TorchModel:
    """Wrap a network over the words of `planted_texts`. lead: with a leading class token."""
    words = vocabulary(size)
    front = len(words)
    classes = ("negative", "positive", "puzzled") if about.get("task") == "three" else ("negative", "positive")

    def tokenize(text: str, pair: str | None) -> Tokens:
        ids, spans = words.encode(text if pair is None else f"{text} {pair}")
        names = tuple(text[a:b] for a, b in spans) if pair is None else tuple(words.words[i] for i in ids)
        if lead:
            ids, spans, names = [front, *ids], [(0, 0), *spans], ("<class>", *names)
        nothing = np.zeros(len(ids), np.int64)
        special = np.array([lead and i == 0 for i in range(len(ids))], bool)
        return Tokens(np.array(ids, np.int64), tuple(spans), special, nothing, names)

    alphabet = Alphabet(PAD, MASK, UNK, np.arange(len(SPECIALS), len(words)), unknown=UNK)
    reader = TextReader(tokenize, alphabet, maskable=False, kind="word")
    embedding = network.get_submodule("embedding")
    return TorchModel(
        network,
        reader,
        task_row("classification"),
        name=f"planted:{name}",
        labels=classes,
        traits=Traits(pooling="class", class_id=front if lead else None, config={**about, "planted": name}),
        embedding=embedding,
        call=_call,
    )


def _call(module: nn.Module, tensors: Mapping[str, Tensor]) -> Tensor:
    logits: Tensor = module(tensors["input_ids"], tensors["attention_mask"].bool())
    return logits
