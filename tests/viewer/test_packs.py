"""A pack holds what the capture held: within its stated error, within its budget, or it says what is left out."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from pack_reading import head_weights, relevance_of
from sample_packs import bert, bilstm, given, long_one, plain_units, translator, writer

import regard
from regard.present.pack.build import Shown, pack
from regard.present.pack.pack import pack_of_capture, pack_of_run
from regard.present.pack.weights import chunks_of, halved, levels_of, pooled, storage_of, to_bytes
from regard.records import Attention, Site


def arrays(heads: int, rows: int, columns: int, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).gamma(0.3, size=(heads, rows, columns)).astype(np.float32)
    return weights / weights.sum(-1, keepdims=True)


@drawn(st.integers(1, 4), st.integers(1, 40), st.integers(1, 40), st.integers(0, 99))
@settings(max_examples=40)
def test_a_byte_is_within_the_error_that_is_stated(heads: int, rows: int, columns: int, seed: int) -> None:
    weights = arrays(heads, rows, columns, seed)
    packed, tops, error = to_bytes(weights)
    back = np.asarray(tops)[:, None, None] * (packed / 255.0) ** 2
    assert np.abs(back - weights).max() <= error + 1e-6
    assert error <= max(tops) / 255 + 1e-6  # half a step of the square root, at its steepest
    assert packed.reshape(heads, -1).max(1).tolist() == [255] * heads


def test_linear_bytes_would_lose_what_these_keep() -> None:
    weights = arrays(2, 512, 512)
    packed, tops, _ = to_bytes(weights)
    back = np.asarray(tops)[:, None, None] * (packed / 255.0) ** 2
    lost = np.abs(back.sum(-1) - 1).max()
    linear = np.abs((np.rint(weights * 255) / 255).sum(-1) - 1).max()
    assert lost < 0.02 < linear


@pytest.mark.parametrize(
    ("heads", "rows", "columns", "how"), [(2, 20, 20, "whole"), (2, 300, 310, "heads"), (1, 600, 530, "tiles")]
)
def test_every_way_to_store_a_site_gives_it_back(heads: int, rows: int, columns: int, how: str) -> None:
    weights = arrays(heads, rows, columns)
    site = Attention(Site("a", 0, "self", 0, heads), weights[None])
    made = pack([Shown("x", plain_units([f"w{i}" for i in range(columns)]), [site])])
    entry = made.manifest.examples[0].sites[0]
    assert entry.storage == how == storage_of(rows, columns, heads)
    for h in range(heads):
        assert np.abs(head_weights(made, 0, 0, h) - weights[h]).max() <= entry.error + 1e-6


def test_a_pyramid_ends_in_one_tile_and_every_level_is_the_largest_of_the_one_below() -> None:
    packed, _, _ = to_bytes(arrays(1, 1100, 700))
    parts = dict(chunks_of(packed, "p", "tiles", [0]))
    levels = levels_of(1100, 700)
    assert levels == 4
    assert [k for k in parts if k.startswith(f"p/0/{levels - 1}/")] == ["p/0/3/0/0"]
    top = packed[0]
    for _ in range(levels - 1):
        top = halved(top)
    np.testing.assert_array_equal(parts["p/0/3/0/0"], top)
    assert top.max() == 255
    assert pooled(packed[0], 32, 32).shape == (32, 32)


def test_what_does_not_fit_the_budget_is_pooled_and_said() -> None:
    made = long_one()
    entry = made.manifest.examples[0].sites[0]
    assert entry.full == [0]
    assert entry.pooled == [128, 128]
    (line,) = made.manifest.left_out
    assert line.startswith("1 of 2 heads of example long are kept only pooled to at most 128 x 128")
    assert made.size < 330_000
    with pytest.raises(KeyError, match="only a pooled version"):
        head_weights(made, 0, 0, 1)


def test_heads_that_are_named_first_fit_first() -> None:
    weights = arrays(3, 600, 600)
    site = Attention(Site("a", 0, "self", 0, 3), weights[None])
    shown = Shown("x", plain_units([f"w{i}" for i in range(600)]), [site])
    made = pack([shown], first=[("a", 2)], budget_bytes=500_000)
    assert made.manifest.examples[0].sites[0].full == [2]


def test_lazy_chunks_are_the_same_chunks() -> None:
    site = Attention(Site("a", 0, "self", 0, 4), arrays(4, 200, 200)[None])
    shown = Shown("x", plain_units([f"w{i}" for i in range(200)]), [site])
    now, later = pack([shown]), pack([shown], lazy=True)
    assert dict(now.chunks) == {k: later.chunks[k] for k in later.chunks}
    assert len(later.chunks) == len(now.chunks)


def test_the_manifest_is_plain_json_and_chunks_are_gzip() -> None:
    made = bert()
    text = json.dumps(made.manifest_json(), allow_nan=False)
    assert json.loads(text)["format"] == "regard-pack"
    for name, chunk in made.chunks.items():
        assert gzip.decompress(chunk), name
    assert not any(isinstance(x, float) for s in made.manifest.examples[0].sites for x in s.thumb)


def test_a_shorter_example_of_a_batch_has_no_padding() -> None:
    first, second = bert().manifest.examples
    assert [s.rows for s in first.sites] == [len(first.units.names)] * 6
    assert len(second.units.names) > len(first.units.names)
    assert first.axes[0].names == first.units.names


def test_relevances_and_answers_come_along() -> None:
    made = bilstm()
    example = made.manifest.examples[0]
    assert relevance_of(made, 0).shape == (3, len(example.units.names))
    assert [m.signed for m in example.methods] == [False, True, True]
    np.testing.assert_allclose(sum(example.distribution), 1.0, atol=1e-6)
    assert example.predicted in made.manifest.labels
    assert example.axes[0].names == ["answer"]


def test_axes_of_a_translator_and_of_a_writer() -> None:
    example = translator().manifest.examples[0]
    kinds = {s.kind: (example.axes[s.queries].names, example.axes[s.keys].names) for s in example.sites}
    assert kinds["cross"] == (example.made, example.units.names)
    assert kinds["causal"][0][0] == "<start>"
    assert kinds["self"][0] == example.units.names
    written = writer().manifest.examples[0]
    assert written.axes[written.sites[0].keys].names == written.units.names


def test_a_rationale_becomes_units() -> None:
    example = bert().manifest.examples[0]
    assert example.rationale is not None
    assert [example.units.names[i] for i in example.rationale] == ["quiet", "moving", "superb"]


@pytest.mark.parametrize("modality", ["text", "image", "series", "tabular"])
def test_a_stored_run_becomes_a_pack(modality: str) -> None:
    from fake_run import JUDGEMENT, fake_run

    from regard.store.judgements import judgement_to_json

    run = fake_run(modality, n=20, manifest={"judgements": [judgement_to_json(JUDGEMENT)]})
    made = pack_of_run(run)
    assert len(made.manifest.examples) == 12
    assert [bool(e.sites) for e in made.manifest.examples] == [True] * 3 + [False] * 9
    assert made.manifest.left_out == ["8 of 20 examples of the run are not in this view"]
    assert made.manifest.verdict is not None
    assert made.manifest.verdict.headline == "read it as evidence, for positive"
    weights = run.capture("e0")[0].weights[0]
    assert np.abs(head_weights(made, 0, 0, 1) - weights[1]).max() <= made.manifest.examples[0].sites[0].error + 1e-6
    example = made.manifest.examples[0]
    assert (example.picture is not None) == (modality == "image")
    assert (example.series is not None) == (modality == "series")
    json.dumps(made.manifest_json(), allow_nan=False)


def test_pairs_of_a_run_are_named_by_ids() -> None:
    from fake_run import fake_run

    made = pack_of_run(fake_run("text"), pairs=[("clean and noisy", "e0", "e1"), ("gone", "e0", "e77")])
    assert [(p.name, p.left, p.right) for p in made.manifest.pairs] == [("clean and noisy", 0, 1)]


def test_names_of_any_kind_are_kept_as_they_are() -> None:
    names = ["</script>", "\u0000", "🙂", "a\nb", ""]
    assert given(names).manifest.examples[0].units.names == names


def test_given_arrays_have_no_answer() -> None:
    example = given(["a", "b"]).manifest.examples[0]
    assert example.probability is None
    assert example.predicted == ""


def test_a_capture_needs_no_examples() -> None:
    made = pack_of_capture(regard.capture("bilstm", "a fine film"))
    assert made.manifest.examples[0].title == "a fine film"


def test_what_is_no_number_is_counted_and_said() -> None:
    weights = arrays(1, 3, 3)
    weights[0, 1, 2], weights[0, 2, 0] = np.nan, np.inf
    shown = Shown("odd", plain_units(["a", "b", "c"]), [Attention(Site("x", 0, "self", 0, 1), weights[None])],
                  relevances={"m": (True, np.array([0.5, np.nan, 0.1]))}, distribution=[np.nan, np.nan],
                  probability=float("nan"))  # fmt: skip
    made = pack([shown], model="m")
    json.dumps(made.manifest_json(), allow_nan=False)
    (said,) = made.manifest.left_out
    assert said == (
        "3 weights or relevances of example odd are not numbers (NaN or infinite); "
        "the maps and methods that contain them are left out"
    )
    (example,) = made.manifest.examples
    # a 0 in the place of what is not known would be a claim
    assert (example.distribution, example.sites, example.methods) == ([], [], [])
