"""Grouped queries, cross-attention, real models: scores equal what the model's own eager weights give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tiny_models import TEXTS, bart, llama

from regard.models.open.load import load
from regard.records import Example
from regard.surveys.heads.streaming import CELLS
from regard.surveys.heads.survey import heads


def own_weights(folder: str, texts: list[str]) -> list[list[np.ndarray]]:
    """Per text and layer (head, query, key), as transformers itself reports them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        runs = [model(**tokenizer(t, return_tensors="pt"), output_attentions=True).attentions for t in texts]
    return [[layer[0].double().numpy() for layer in run] for run in runs]


def test_grouped_queries_are_counted_head_by_head(tmp_path: Path) -> None:
    folder = llama(tmp_path / "llama")
    found = heads(folder, TEXTS, limit=8, ablate=4)
    assert [row.name for row in found.heads] == [f"L{layer}H{h}" for layer in range(2) for h in range(4)]
    theirs = own_weights(folder, TEXTS[:8])
    for row in found.heads:
        maps = [w[row.layer][row.number] for w in theirs]
        before = np.mean([np.mean([m[q, q - 1] for q in range(1, len(m))]) for m in maps])
        mine = found.score(row.name, "previous_token")
        assert mine is not None
        assert mine.estimate == pytest.approx(before, abs=1e-5)
        null = np.mean([np.mean([m[q].sum() / (q + 1) for q in range(1, len(m))]) for m in maps])
        assert mine.baseline == pytest.approx(null, abs=1e-5)
    assert all(row.kind == "causal" for row in found.heads)
    assert found.score("0.0", "next_token") is None  # the mask hides what comes after
    assert found.health.mean("null_dimension") >= 0


def test_one_head_of_a_group_is_switched_off_alone(tmp_path: Path) -> None:
    from regard.records import Edit

    model = load(llama(tmp_path / "llama"))
    item = model.encode(Example("a", {"text": TEXTS[3]}))
    _, targets = model.predict([item])
    sites = [s.site for s in model.capture([item], targets).sites]
    base = model.forward([item], targets).value[0]
    alone = [model.forward([item], targets, [Edit("mask_heads", sites[1].key, (h,))]).value[0] for h in range(4)]
    assert len({round(float(v), 6) for v in (base, *alone)}) == 5


def test_encoder_and_decoder_are_named_apart_and_cross_attention_is_its_own(tmp_path: Path) -> None:
    found = heads(bart(tmp_path / "bart"), TEXTS, limit=6, ablate=3)
    kinds = {row.kind for row in found.heads}
    assert kinds == {"self", "causal", "cross"}
    assert {row.name for row in found.heads} == {f"{kind}.L0H{h}" for kind in kinds for h in range(2)}
    assert found.score("cross.L0H0", "previous_token") is None  # two axes have no "before"
    assert found.score("cross.L0H0", "distance") is None
    diagonal = found.score("cross.L0H0", "positional:offset=-2")
    entropy = found.score("cross.L0H0", "entropy")
    assert diagonal is not None
    assert entropy is not None
    assert entropy.n == 6
    assert 0 < entropy.estimate <= entropy.baseline
    assert all(row.drop is not None and row.slope is not None for row in found.heads)


@pytest.mark.real
def test_minilm_has_a_previous_token_head() -> None:
    """Layer 0 head 2 of all-MiniLM-L6-v2 looks one back in every row."""
    found = heads("minilm:epochs=1,layers=1,n=1200", "reviews", limit=8, ablate=0)
    role = found.role("L0H2")
    assert role.name == "previous token"
    assert role.confidence > 0.95
    assert role.score is not None
    assert role.score.estimate > 0.95
    named = [row for row in found.heads if row.role.name]
    assert all(row.role.score is not None and row.role.score.low > row.role.score.baseline for row in named)


def test_rows_are_read_in_chunks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever the size of a chunk, the scores are the same."""
    from regard.surveys.heads import streaming
    from regard.tap.site_attention import LazyAttention

    folder = llama(tmp_path / "llama")
    whole = heads(folder, TEXTS[:4], ablate=0)
    asked: list[int] = []
    rows = LazyAttention.rows

    def watched(self: LazyAttention, example: int, queries: list[int], heads: list[int] | None = None) -> np.ndarray:
        asked.append(len(queries))
        return rows(self, example, queries, heads)

    monkeypatch.setattr(streaming, "CELLS", 150)
    monkeypatch.setattr(LazyAttention, "rows", watched)
    pieces = heads(folder, TEXTS[:4], ablate=0)
    assert CELLS > 150
    assert asked
    for one, two in zip(whole.scores, pieces.scores, strict=True):
        assert one.estimate == pytest.approx(two.estimate, abs=1e-6)


def test_nothing_of_an_example_is_kept_when_the_next_one_comes(tmp_path: Path) -> None:
    import weakref

    from regard.protocols import SiteAttention
    from regard.surveys.heads.axes import Corpus
    from regard.surveys.heads.streaming import stream
    from regard.surveys.heads.survey import scores

    model = load(llama(tmp_path / "llama"))
    encoded = [model.encode(Example(str(i), {"text": text})) for i, text in enumerate(TEXTS[:5])]
    _, targets = model.predict(encoded)
    held: list[list[weakref.ref[object]]] = []

    def also(i: int, sites: Sequence[SiteAttention]) -> None:
        held.append([weakref.ref(site.call.query) for site in sites])  # type: ignore[attr-defined]
        if i > 1:  # the sites of the pass before last are gone, those of the last may still be a local name
            assert all(query() is None for query in held[i - 2])

    stream(model, encoded, targets, scores(), Corpus(), also=also)
    assert len(held) == 5
