"""Packs of real captures, one for every kind of view. Small models: what is drawn matters here, not what it means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

import regard
from regard.live.image_text import pair_pack
from regard.models.capture import as_examples
from regard.models.image_text import look_at
from regard.models.open.from_arrays import from_arrays
from regard.models.read_rows import read_rows
from regard.models.walkthrough import walkthrough
from regard.present.pack.build import Alternative, Shown, pack
from regard.present.pack.pack import pack_of_capture
from regard.present.pack.records import AxisEntry, Pack, PairEntry
from regard.records import Attention, Example, Site, Units
from regard.tap.capture_call import capture_call
from regard.tap.stitch_steps import capture_generation
from regard.testing.architectures import find

REVIEW = "The film is a quiet , moving story that never begs for tears , and the acting is superb ."
ATTACKED = "The film is a quiet , moving story that never begs for tears , and the acting is suberp ."
METHODS = ("attention", "rollout", "input_x_gradient", "leave_one_out")
JUDGEMENT = {
    "reading": "debugging only", "classes": [], "attention": "row of [CLS], last layer, mean of heads", "n": 200,
    "sentence": "The map moves the answer, but does not point at what the answer needs.",
}  # fmt: skip


@cache
def bert() -> Pack:
    """A real MiniLM: two examples that differ by one misspelt word, four methods, roles of the heads, walk-throughs."""
    model = regard.load("minilm:epochs=1,layers=1,n=1200")
    read = [
        Example("clean", {"text": REVIEW}, label=1, rationale=((14, 19), (22, 28), (81, 87))),
        Example("attacked", {"text": ATTACKED}, label=1, parent="clean"),
    ]
    found = regard.explain(model, read, methods=METHODS)
    capture = regard.capture(model, list(found.examples))
    survey = regard.heads(
        model, [REVIEW, "A dull and lifeless mess .", "I laughed twice ."], limit=3, ablate=1
    ).to_json()
    row = (f"bert.encoder.layer.{capture.sites[-1].site.layer}.attention.self", (0,))
    others = {0: [_flipped(capture.sites[-1].dense(), len(found.units[0]))]}
    walks = [walkthrough(model, REVIEW, head=h) for h in (0, 3)]
    left, right = (u.names for u in found.units)
    origin = [i if i < len(left) and name == left[i] else -1 for i, name in enumerate(right)]
    return pack_of_capture(
        capture, model="minilm", task=model.task, labels=model.labels, examples=found.examples,
        predicted=found.targets, relevances=list(found.relevance.values()), reading=dict([row]), alternatives=others,
        walks=walks, judgement=JUDGEMENT, survey=survey,
        pairs=[PairEntry("clean and attacked", 0, 1, origin)],
    )  # fmt: skip


def _flipped(attention: Attention, n: int) -> Alternative:
    """Every row read backwards: as far away as an alternative may lie."""
    weights = np.ascontiguousarray(attention.weights[0][:, :n, :n][:, :, ::-1])
    return Alternative(attention.site.key, weights, 0.02, 0.41, "the other attention that the audit found")


def _simple(model: str, methods: Sequence[str], inputs: Any) -> Pack:
    live = regard.load(model)
    found = regard.explain(live, as_examples(live, inputs), methods=methods)
    capture = regard.capture(live, list(found.examples))
    item = live.encode(found.examples[0])
    reading = {s.site.key: read_rows(live, item, found.targets[0], s.site) for s in capture.sites}
    return pack_of_capture(
        capture, model=model, reading=reading, labels=live.labels, examples=found.examples, predicted=found.targets,
        relevances=list(found.relevance.values()), judgement=JUDGEMENT,
    )  # fmt: skip


@cache
def bilstm() -> Pack:
    """One row of weights: the model of the debate."""
    return _simple(
        "bilstm", ("attention", "input_x_gradient", "leave_one_out"), "a quiet , moving film that never begs"
    )


@cache
def digits() -> Pack:
    """A picture in patches."""
    image = next(iter(regard.read("digits", limit=200))).inputs["image"]
    return _simple("digits", ("attention", "input_x_gradient"), [np.asarray(image)])


@cache
def power() -> Pack:
    """A series in stretches."""
    series = next(iter(regard.read("power", limit=200))).inputs["series"]
    return _simple("power", ("attention", "leave_one_out"), [np.asarray(series)])


@cache
def cancer() -> Pack:
    """A row of a table."""
    row = next(iter(regard.read("cancer", limit=200))).inputs["row"]
    return _simple("cancer", ("attention", "leave_one_out"), [np.asarray(row)])


def plain_units(names: Sequence[str], kind: str = "word") -> Units:
    n = len(names)
    ends = np.cumsum([len(x) + 1 for x in names])
    places = np.stack([ends - [len(x) + 1 for x in names], ends - 1], axis=1)
    return Units(tuple(names), kind, "span", places, np.zeros(n, bool), np.arange(n), np.zeros(n), np.arange(n), (n,))


def _first(sites: Any) -> list[Attention]:
    """The first example of every site."""
    dense = [s.dense() for s in sites]
    return [Attention(a.site, a.weights[:1], None if a.sink is None else a.sink[:1], a.checked) for a in dense]


@cache
def translator() -> Pack:
    """A T5 with random weights: encoder, decoder and what lies between them."""
    row = find("T5")
    module, inputs = row.build(), row.inputs()
    _, taps = capture_call(module, lambda: module(**inputs), mode="weights")
    attentions = _first(taps.sites)
    cross = next(a for a in attentions if a.site.kind == "cross")
    source = [f"s{i}" for i in range(cross.shape[3])]
    made = [f"t{i}" for i in range(cross.shape[2])]
    links = [(i, i) for i in range(min(len(source), len(made)))]
    shown = Shown("pair", plain_units(source), attentions, "T5", {"text": " ".join(source)}, made=made, alignment=links)
    return pack([shown], model="T5 (random weights)", task="translation")


@cache
def writer() -> Pack:
    """A GPT-2 with random weights that writes five tokens."""
    row = find("GPT-2")
    module, inputs = row.build(), row.inputs()
    ids = inputs["input_ids"][:1]
    out, taps = capture_generation(
        module, lambda: module.generate(ids, max_new_tokens=5, min_new_tokens=5, do_sample=False, pad_token_id=0)
    )
    made = [f"n{int(i)}" for i in out[0, ids.shape[1] :]]
    names = [*(f"w{int(i)}" for i in ids[0]), *made[:-1]]
    shown = Shown("written", plain_units(names), _first(taps.sites), "GPT-2", {"text": " ".join(names)}, made=made)
    return pack([shown], model="GPT-2 (random weights)", task="next token")


@cache
def words_and_patches() -> Pack:
    """A ViLT with random weights: words and patches look at each other."""
    row = find("ViLT")
    module, inputs = row.build(), row.inputs()
    _, taps = capture_call(module, lambda: module(**inputs), mode="weights")
    attentions = _first(taps.sites)
    n = attentions[0].shape[3]
    words = int(inputs["input_ids"].shape[1])
    side = round((n - words - 1) ** 0.5)
    cell = 32 / side
    boxes = [[r * cell, c * cell, (r + 1) * cell, (c + 1) * cell] for r in range(side) for c in range(side)]
    names = [*(f"word{i}" for i in range(words)), "[IMG]", *(f"patch {i}" for i in range(side * side))]
    special = [False] * words + [True] + [False] * (side * side)
    axis = AxisEntry(names, [-1] * n, special, [0] * words + [1] * (n - words), [[]] * (words + 1) + boxes)
    picture = np.asarray(inputs["pixel_values"][0], np.float32)
    shown = Shown(
        "a picture and its words", plain_units(names[:words]), attentions, "ViLT",
        {"text": " ".join(names[:words]), "image": picture}, axes={a.site.key: (axis, axis) for a in attentions},
    )  # fmt: skip
    return pack([shown], model="ViLT (random weights)", task="words and pictures")


@cache
def two_towers() -> Pack:
    """A BLIP with random weights: a tower for words that looks at the patches of another one."""
    row = find("BLIP")
    module, inputs = row.build(), row.inputs()
    _, taps = capture_call(module, lambda: module(**inputs), mode="weights")
    attentions = _first(taps.sites)
    words = int(inputs["input_ids"].shape[1])
    patches = next(a for a in attentions if a.site.kind == "cross").shape[3]
    side = round((patches - 1) ** 0.5)
    cell = 32 / side
    boxes = [[r * cell, c * cell, (r + 1) * cell, (c + 1) * cell] for r in range(side) for c in range(side)]
    seen = AxisEntry(["[IMG]", *(f"patch {i}" for i in range(side * side))], [-1] * patches,
                     [True] + [False] * (side * side), [1] * patches, [[], *boxes])  # fmt: skip
    said = AxisEntry([f"word{i}" for i in range(words)], list(range(words)), [False] * words, [0] * words, [[]] * words)
    by_size = {words: said, patches: seen}
    axes = {a.site.key: (by_size[a.shape[2]], by_size[a.shape[3]]) for a in attentions}
    shown = Shown(
        "words about a picture", plain_units(said.names), attentions, "BLIP",
        {"text": " ".join(said.names), "image": np.asarray(inputs["pixel_values"][0], np.float32)}, axes=axes,
    )  # fmt: skip
    return pack([shown], model="BLIP (random weights)", task="words and pictures")


@cache
def clip() -> Pack:
    """A CLIP with random weights: two towers that never look at each other."""
    from transformers import CLIPConfig, CLIPModel

    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 40}
    words = {**sizes, "vocab_size": 99, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2}
    seen = {**sizes, "image_size": 32, "patch_size": 4}
    torch.manual_seed(0)
    module = CLIPModel(CLIPConfig(text_config=words, vision_config=seen, projection_dim=16))
    rows, columns = np.mgrid[0:32, 0:32] / 31
    disc = (rows - 0.35) ** 2 + (columns - 0.6) ** 2 < 0.07
    picture = np.where(disc, 1.0, 0.25 * rows)[None] * np.array([1.0, 0.45, 0.1])[:, None, None]
    inputs = {
        "input_ids": torch.tensor([[1, 11, 12, 13, 14, 15, 2]]),
        "pixel_values": torch.tensor(picture[None], dtype=torch.float32),
    }
    names = ("<start>", "an", "orange", "disc", "at", "night", "<end>")
    looked = look_at(module, inputs, names, tuple(n.startswith("<") for n in names), None)
    return pair_pack(looked, "an orange disc at night", "CLIP (random weights)")


@cache
def long_one() -> Pack:
    """700 positions: tiles, one head that fits the budget and one that does not."""
    n, rng = 700, np.random.default_rng(0)
    near = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 4.0)
    weights = np.stack([near, rng.gamma(0.2, size=(n, n))]).astype(np.float32)
    weights /= weights.sum(-1, keepdims=True)
    site = Site("layer.0", 0, "self", 0, 2)
    shown = Shown("long", plain_units([f"w{i}" for i in range(n)]), [Attention(site, weights[None])], "given arrays")
    return pack([shown], model="given arrays", budget_bytes=250_000)


def given(names: Sequence[str], *, heads: int = 2, layers: int = 2, seed: int = 0) -> Pack:
    """Arrays under any names."""
    n, rng = len(names), np.random.default_rng(seed)
    weights = rng.gamma(0.3, size=(layers, 1, heads, n, n)).astype(np.float32)
    weights /= weights.sum(-1, keepdims=True)
    return pack_of_capture(from_arrays(list(weights), list(names)), model="given arrays")


@cache
def chinese() -> Pack:
    return given(list("这部电影安静而动人，演技出色。"))


@cache
def pair_of_texts() -> Pack:
    """Two texts of a small MiniLM: A and B."""
    model = regard.load("minilm:epochs=1,layers=1,n=1200")
    example = Example("pair", {"text": "Who wrote it ?", "text_pair": "The book was written by Ann ."})
    return pack_of_capture(regard.capture(model, example), model="minilm", examples=[example])


@cache
def spectrogram() -> Pack:
    """A series with many channels: drawn as a map."""
    steps, channels = 60, 24
    t = np.arange(steps)[:, None]
    series = np.exp(-(((np.arange(channels) - 12 - 8 * np.sin(t / 9)) / 3) ** 2))
    n = 12
    places = np.stack([np.arange(n) * 5, (np.arange(n) + 1) * 5], axis=1)
    units = Units(tuple(f"{a}–{b}" for a, b in places), "stretch", "range", places, np.zeros(n, bool), np.arange(n),
                  np.zeros(n), np.arange(n), (n,))  # fmt: skip
    rng = np.random.default_rng(1)
    weights = rng.gamma(0.4, size=(1, 2, n, n)).astype(np.float32)
    weights /= weights.sum(-1, keepdims=True)
    found = {"leave_one_out": (True, rng.normal(size=n)), "attention": (False, rng.gamma(0.5, size=n))}
    attention = Attention(Site("encoder.0", 0, "self", 0, 2), weights)
    return pack(
        [Shown("sound", units, [attention], "given", {"series": series}, relevances=found)], model="given arrays"
    )


def sound() -> Pack:
    """Two seconds at 8 kHz: a tone that glides upwards, read as frames of a model at another rate."""
    rate, n = 8000, 20
    time = np.arange(2 * rate) / rate
    wave = np.sin(2 * np.pi * (200 + 400 * time) * time) * np.hanning(len(time))
    begin = np.linspace(0, 32000, n + 1)
    places = np.stack([begin[:-1], begin[1:]], axis=1)
    units = Units(tuple(f"{a / 16000:.2f}s" for a in begin[:-1]), "frame", "range", places, np.zeros(n, bool),
                  np.arange(n), np.zeros(n), np.arange(n), (n,))  # fmt: skip
    rng = np.random.default_rng(2)
    weights = rng.gamma(0.4, size=(1, 2, n, n)).astype(np.float32)
    weights /= weights.sum(-1, keepdims=True)
    found = {"leave_one_out": (True, rng.normal(size=n)), "attention": (False, rng.gamma(0.5, size=n))}
    attention = Attention(Site("encoder.0", 0, "self", 0, 2), weights)
    inputs = {"audio": wave, "rate": rate}
    return pack([Shown("glide", units, [attention], "given", inputs, relevances=found)], model="given arrays")


SAMPLES: dict[str, tuple[Callable[[], Pack], tuple[str, ...]]] = {
    "bert": (
        bert,
        ("head_view", "model_view", "heat_map", "flow", "token_text", "head_atlas", "walkthrough", "compare"),
    ),
    "bilstm": (bilstm, ("head_view", "heat_map", "token_text")),
    "digits": (digits, ("image_overlay", "heat_map", "model_view")),
    "power": (power, ("series_overlay", "flow")),
    "cancer": (cancer, ("columns",)),
    "translator": (translator, ("alignment", "head_view", "written")),
    "writer": (writer, ("written", "head_view", "heat_map")),
    "words_and_patches": (words_and_patches, ("image_overlay",)),
    "two_towers": (two_towers, ("image_overlay",)),
    "clip": (clip, ("image_overlay",)),
    "long": (long_one, ("heat_map", "head_view")),
    "chinese": (chinese, ("head_view", "flow")),
    "pair": (pair_of_texts, ("head_view",)),
    "spectrogram": (spectrogram, ("series_overlay",)),
    "sound": (sound, ("sound_overlay",)),
}
"""name -> its pack, and the views that are looked at with it."""
