"""Views of vision-language models: select a word to see its patches, or a patch to see its words.

    view = words_and_patches(model, processor, "a dog on the grass", image)     # a transformers model, or its directory
    view.save("dog.html")
    written_words(model, processor, "<image> what is this?", image, new_tokens=8)       # a map for every written word

Where words look at patches (BLIP, ViLT, LLaVA, Qwen2-VL), that attention is shown. In two towers that meet only as two
vectors (CLIP, SigLIP) none does: there the view shows which pairs the similarity needs
(`models.dual_encoder`), says so, and offers the attention within the picture beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.datasets.picture_decoder import decoded
from regard.errors import phrase
from regard.live.session import Session
from regard.live.show import HEIGHT, View
from regard.models.dual_encoder import Together
from regard.models.image_text import Looked, look
from regard.models.open.checkpoints import open_pair
from regard.models.word_maps import WordMaps, word_maps
from regard.present.messages.messages import say, speaking
from regard.present.pack.build import PairMap, Shown, pack
from regard.present.pack.records import AxisEntry, Pack
from regard.records import Attention, Floats, Site, Units

LEAD = 8
"""Maximum vectors of a picture that are not patches (class token, registers)."""
SEES = ("vision", "visual", "image")
"""Parts of the names of modules that read pictures."""


def words_and_patches(
    model: Any, processor: Any, text: str, image: Any, *, lang: str = "en", static: bool = False, height: int = HEIGHT
) -> View:
    """Build the view of one text and one image.

    model: a transformers model with its processor, or a directory (processor=None). image: a PIL image or array.
    """
    name = str(model) if isinstance(model, str) else type(model).__name__
    if isinstance(model, str):
        model, processor = open_pair(model)
    with speaking(lang):
        pack_shown = pair_pack(look(model, processor, text, image), text, name)
    return View(Session.of_pack(pack_shown, lang=lang), "image_overlay", height, static)


def written_words(
    model: Any, processor: Any, text: str, image: Any, *, new_tokens: int, lang: str = "en", name: str = ""
) -> View:
    """Let a model write about a picture, and show where it looked for every word (`models.word_maps`)."""
    name = name or (str(model) if isinstance(model, str) else type(model).__name__)
    if isinstance(model, str):
        model, processor = open_pair(model)
    with speaking(lang):
        word_pack = maps_pack(word_maps(model, processor, text, image, new_tokens=new_tokens), text, name)
    return View(Session.of_pack(word_pack, lang=lang), "image_overlay", HEIGHT, False)


def maps_pack(maps: WordMaps, text: str, model: str) -> Pack:
    """Build the pack of the words that were written about one image."""
    n = len(maps.words)
    units = Units(
        names=maps.words,
        kind="token",
        place_kind="span",
        places=np.zeros((n, 2)),
        special=np.zeros(n, np.bool_),
        groups=np.arange(n),
        part=np.zeros(n, np.int64),
        keys=np.full(n, -1),
        shape=(n,),
    )
    boxes = _grid_boxes(maps.grid, maps.picture.shape[-2:])
    words = AxisEntry(list(maps.words), list(range(n)), [False] * n, [0] * n, [[] for _ in range(n)])
    count = len(boxes)
    patches = AxisEntry(_patch_names(maps.grid), [-1] * count, [False] * count, [1] * count, boxes)
    sinks = [say("pack.sink", place=sink.name, share=f"{sink.share:.1%}") for sink in maps.sinks]
    corrected = say("pack.sinks", sinks=say("listed").join(sinks)) if sinks else say("pack.no_sinks")
    on_picture = maps.raw.sum(1)
    attentions = [
        _mean_attention(say("pack.word_maps_raw"), maps.raw, 1.0 - on_picture),
        _mean_attention(say("pack.word_maps"), maps.values, np.zeros(n)),
    ]
    inputs = {"text": f"{text} → {maps.text}", "image": maps.picture}
    axes = {attention.site.key: (words, patches) for attention in attentions}
    example = Shown("text and picture", units, attentions, model, inputs, axes=axes)
    shares = say("listed").join(f"{word} {share:.0%}" for word, share in zip(maps.words, on_picture, strict=True))
    notes = [corrected, say("pack.on_picture", shares=shares)]
    return pack([example], model=model, task="words and pictures", notes=notes)


def _mean_attention(name: str, weights: Floats, elsewhere: Floats) -> Attention:
    """Wrap weights (words, patches) as a site of one head; elsewhere: weight of each row on other places."""
    site = Site(name=name, call=0, kind="cross", layer=0, heads=1, module="word_maps")
    sink = np.clip(elsewhere, 0.0, 1.0)[None, None].astype(np.float32)
    return Attention(site, weights[None, None].astype(np.float32), sink, "first")


def read_picture(path: Path) -> Any:
    """Read an image file as (height, width) or (height, width, 3) bytes."""
    return decoded(path, phrase("errors.common.picture_file", file=path))[0]


def pair_pack(looked: Looked, text: str, model: str) -> Pack:
    """Build the pack of one text and one image."""
    attentions = [s.dense() for s in looked.sites]
    attentions = [
        Attention(a.site, a.weights[:1], None if a.sink is None else a.sink[:1], a.checked) for a in attentions
    ]
    n = len(looked.words)
    units = Units(
        names=looked.words,
        kind="token",
        place_kind="span",
        places=np.zeros((n, 2)),
        special=np.array(looked.special, np.bool_),
        groups=np.arange(n),
        part=np.zeros(n, np.int64),
        keys=np.arange(n),
        shape=(n,),
    )
    axes = {a.site.key: axes_of_site(looked, a.site, a.shape[2], a.shape[3]) for a in attentions}
    maps = [] if looked.pairs is None else [_map(looked, looked.pairs)]
    example = Shown(
        "text and picture",
        units,
        attentions,
        model,
        {"text": text, "image": looked.picture},
        axes=axes,
        maps=maps,
        value=None if looked.pairs is None else looked.pairs.similarity,
    )
    notes = [say("pack.no_pairs", why=looked.why_not)] if looked.why_not else []
    return pack([example], model=model, task="words and pictures", notes=notes)


def axes_of_site(looked: Looked, site: Site, rows: int, columns: int) -> tuple[AxisEntry, AxisEntry]:
    """Infer the query and key axes of a site from their lengths and the module name."""
    keys = _axis(looked, columns, seeing=_sees(site.key) or (site.kind == "cross" and columns != len(looked.words)))
    return (keys if rows == columns else _axis(looked, rows, seeing=False)), keys


def _sees(key: str) -> bool:
    return any(part in key.lower() for part in SEES)


def _axis(looked: Looked, size: int, *, seeing: bool) -> AxisEntry:
    words, patches = len(looked.words), looked.grid[0] * looked.grid[1]
    if size == words and not seeing:
        return _words(looked)
    if 0 <= size - words - patches <= LEAD and not seeing:
        word_axis, patch_axis = _words(looked), _patches(looked, size - words)
        return AxisEntry(
            word_axis.names + patch_axis.names,
            word_axis.units + patch_axis.units,
            word_axis.special + patch_axis.special,
            word_axis.part + patch_axis.part,
            word_axis.boxes + patch_axis.boxes,
        )
    if 0 <= size - patches <= LEAD:
        return _patches(looked, size)
    return AxisEntry([str(i) for i in range(size)], [-1] * size, [False] * size, [0] * size, [[]] * size)


def _words(looked: Looked) -> AxisEntry:
    """Return the word axis; image placeholders among the words count as patches."""
    n = len(looked.words)
    boxes: list[list[float]] = [[] for _ in range(n)]
    names, special = list(looked.words), list(looked.special)
    if len(looked.holders) == looked.grid[0] * looked.grid[1]:
        for at, name, box in zip(looked.holders, _patch_names(looked.grid), _boxes(looked), strict=True):
            names[at], special[at], boxes[at] = name, False, box
    return AxisEntry(names, list(range(n)), special, [1 if box else 0 for box in boxes], boxes)


def _patches(looked: Looked, size: int) -> AxisEntry:
    lead = size - looked.grid[0] * looked.grid[1]
    names = [*(f"[picture {i}]" if lead > 1 else "[picture]" for i in range(lead)), *_patch_names(looked.grid)]
    boxes = [*([] for _ in range(lead)), *_boxes(looked)]
    return AxisEntry(names, [-1] * size, [not box for box in boxes], [1] * size, boxes)


def _patch_names(grid: tuple[int, int]) -> list[str]:
    return [f"r{r}c{c}" for r in range(grid[0]) for c in range(grid[1])]


def _boxes(looked: Looked) -> list[list[float]]:
    return _grid_boxes(looked.grid, looked.size)


def _grid_boxes(grid: tuple[int, int], size: Sequence[int]) -> list[list[float]]:
    """[top, left, bottom, right] of every patch of a picture of this height and width."""
    tall, broad = size[0] / grid[0], size[1] / grid[1]
    return [[r * tall, c * broad, (r + 1) * tall, (c + 1) * broad] for r in range(grid[0]) for c in range(grid[1])]


def _map(looked: Looked, found: Together) -> PairMap:
    whole, everything = say("pack.whole_text"), say("pack.whole_picture")
    words = [whole, *(looked.words[k] for k in found.words)]
    patch = (looked.size[0] / looked.grid[0] * found.block, looked.size[1] / looked.grid[1] * found.block)
    patch_names = [f"r{round(b[0] / patch[0])}c{round(b[1] / patch[1])}" for b in found.boxes]
    word_axis = AxisEntry(words, [-1, *found.words], [False] * len(words), [0] * len(words), [[]] * len(words))
    patch_axis = AxisEntry(
        [everything, *patch_names],
        [-1] * (len(patch_names) + 1),
        [False] * (len(patch_names) + 1),
        [1] * (len(patch_names) + 1),
        [[], *found.boxes.tolist()],
    )
    note = say("pack.pairs", similarity=f"{found.similarity:.3f}")
    if found.block > 1:
        note += " " + say("pack.pairs_blocks", n=found.block)
    return PairMap(say("pack.pairs_name"), note, word_axis, patch_axis, found.values)
