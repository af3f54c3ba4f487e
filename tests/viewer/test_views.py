"""Every view, drawn from real captures in a real browser: pixels, words, and the text form against the numbers."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pack_reading import head_weights, relevance_of
from sample_packs import SAMPLES, bert, clip, digits, given, long_one, translator, two_towers, words_and_patches, writer

from regard.measures.rollout import rollout
from regard.present.pack.records import Pack

FOCUSED = (
    "() => { let e = document.activeElement; while (e.shadowRoot) e = e.shadowRoot.activeElement ?? {};"
    " return e.className || e.tagName }"
)


def site_weights(pack: Pack, example: int, site: int) -> Any:
    """(head, query, key) as stored."""
    heads = pack.manifest.examples[example].sites[site].heads
    return np.stack([head_weights(pack, example, site, h) for h in range(heads)])


@pytest.mark.parametrize("name", SAMPLES)
def test_every_view_is_drawn_and_has_words_and_a_table(show: Callable[..., Any], name: str) -> None:
    shown = show(name, dark=len(name) % 2 == 0)
    for view in SAMPLES[name][1]:
        shown.open(view)
        assert shown.ink() > 1500, view
        assert len(shown.declared) > 10, view
        head, rows = shown.table()
        assert len(head) >= 2, view
        assert rows, view
        caveat = shown.page.locator("aside.caveat")
        assert caveat.count() == (name != "clip"), view  # all the others show attention, or a method made of it
        if name == "clip":
            continue
        said = caveat.inner_text()
        assert "not why the model decided" in said, view
        own = shown.pack.manifest.verdict
        assert ("use it for debugging only" if own else "not audited") in said, view


def test_methods_without_attention_need_no_caveat(show: Callable[..., Any]) -> None:
    shown = show("bilstm")
    shown.open("token_text")
    assert shown.page.locator("aside.caveat").count() == 1
    shown.page.get_by_role("button", name="attention", exact=True).click()
    shown.settle()
    assert shown.page.locator("aside.caveat").count() == 0


def test_the_views_offered_are_those_with_data(show: Callable[..., Any]) -> None:
    shown = show("bilstm")
    offered = {t.get_attribute("id") for t in shown.page.locator("[role=tab]").all()}
    assert "tab-token_text" in offered
    assert not offered & {"tab-image_overlay", "tab-alignment", "tab-head_atlas", "tab-counterfactual", "tab-rationale"}


def test_heat_map_hover_shows_the_value_of_the_capture_and_click_locks_it(show: Callable[..., Any]) -> None:
    shown = show("bert")
    shown.open("heat_map")
    shown.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight")
    weights = site_weights(bert(), 0, 5).mean(0)
    axis = bert().manifest.examples[0].axes[0].names
    found = re.match(r"(\S+) \(2\) → (\S+) \(1\): ([\d.e-]+) ± ([\d.e-]+)", shown.readout)
    assert found is not None
    assert (found[1], found[2]) == (axis[2], axis[1])
    assert float(found[3]) == pytest.approx(float(weights[2, 1]), abs=6e-4)
    shown.press("Enter")
    assert "locked" in shown.readout
    shown.point(400, 300)
    assert "locked" in shown.readout
    shown.press("Escape")
    assert "locked" not in shown.readout


def test_heat_map_of_a_long_text_zooms_by_tiles_to_exact_weights(show: Callable[..., Any]) -> None:
    shown = show("long")
    shown.open("heat_map")
    assert "pooled" in shown.declared  # one of the heads did not fit
    assert "1 of 2 heads" in shown.page.locator(".notes").inner_text()
    shown.pick("Heads", "one")
    assert "pooled" not in shown.declared
    before = shown.ink()
    shown.press("+", "+", "+", "+", "+", "+")
    assert "zoom 11.4x" in shown.declared
    assert shown.ink() != before
    shown.press("ArrowDown", "ArrowDown", "ArrowRight")
    value = float(re.search(r": ([\d.e-]+) ±", shown.readout)[1])  # type: ignore[index]
    assert value == pytest.approx(float(head_weights(long_one(), 0, 0, 0)[1, 1]), rel=0.01)
    shown.page.locator(".stage").hover()
    shown.page.mouse.wheel(0, 300)
    shown.settle()
    assert "zoom 9.1x" in shown.declared


def test_head_view_hover_isolates_a_token(show: Callable[..., Any]) -> None:
    shown = show("bert")
    shown.open("head_view")
    assert "in focus: [CLS], the others faint" in shown.declared  # the row that the answer reads
    assert "40 of 264 lines" in shown.declared  # 22 keys x 12 heads
    shown.press("Escape")
    assert re.search(r"60 of 58\d\d lines drawn", shown.declared)
    shown.page.get_by_label("Weights from").fill("0")
    shown.settle()
    assert re.search(r"600 of 58\d\d lines drawn", shown.declared)
    shown.page.get_by_role("button", name="Automatic").click()
    shown.press("ArrowDown", "ArrowDown")
    assert "40 of 264 lines" in shown.declared
    weights = site_weights(bert(), 0, 5).mean(0)
    names = bert().manifest.examples[0].axes[0].names
    best = names[int(weights[1].argmax())]
    assert shown.readout.startswith(f"{names[1]} looks most at: {best} {weights[1].max():.3f}")
    shown.page.mouse.move(5, 5)
    shown.settle()
    shown.point(60, 60)
    assert "looks most at" in shown.readout


def test_head_squares_switch_heads_and_layers_by_the_drop_down(show: Callable[..., Any]) -> None:
    shown = show("bert")
    shown.open("head_view")
    squares = shown.page.get_by_role("group", name="Heads")
    assert squares.get_by_role("button").count() == 13
    squares.get_by_role("button", name="L5H3").dblclick()
    shown.settle()
    assert "heads 3;" in shown.declared
    shown.press("3")
    assert "heads none" in shown.declared
    shown.pick("Layer", "0 self (12)")
    assert shown.declared.startswith("layer 0, self")


def test_special_tokens_can_be_hidden_and_it_is_said(show: Callable[..., Any]) -> None:
    shown = show("bert")
    shown.open("heat_map")
    shown.page.get_by_label("Hide special").check()
    shown.settle()
    assert "special tokens hidden, rows not renormalised" in shown.declared
    _, rows = shown.table()
    assert not {"[CLS]", "[SEP]"} & {r[0] for r in rows} | {r[2] for r in rows} & {"[CLS]", "[SEP]"}


@pytest.mark.parametrize("how", ["mean", "max"])
def test_pooling_over_heads_and_layers_is_what_it_says(show: Callable[..., Any], how: str) -> None:
    shown = show("bert")
    shown.open("heat_map")
    shown.pick("Heads", how)
    shown.pick("Layers", how)
    assert shown.declared == f"{how} over 6 layers; {how} over 12 heads"
    each = [getattr(site_weights(bert(), 0, s), how)(0) for s in range(6)]
    both = getattr(np.stack(each), how)(0)
    _, rows = shown.table()
    q, k = int(rows[0][1]), int(rows[0][3])
    assert float(rows[0][4]) == pytest.approx(float(both[q, k]), abs=6e-4)
    assert both.max() == pytest.approx(float(both[q, k]), abs=1e-5)


def test_a_pair_of_texts_is_filtered(show: Callable[..., Any]) -> None:
    shown = show("pair")
    shown.open("head_view")
    shown.pick("Texts", "A → B")
    shown.press("Escape")
    assert "only text 0 → text 1" in shown.declared
    part = shown.pack.manifest.examples[0].axes[0].part
    most = sum(p == 0 for p in part) * sum(p == 1 for p in part) * 12
    found = re.search(r"of (\d+) lines", shown.declared)
    assert found is not None
    assert most // 2 < int(found[1]) <= most


def test_chinese_lies_and_can_stand(show: Callable[..., Any]) -> None:
    shown = show("chinese")
    shown.open("head_view")
    upright = shown.page.get_by_label("Upright")
    assert not upright.is_checked()
    assert shown.page.locator(".stage canvas").bounding_box()["height"] == 250
    upright.check()
    shown.settle()
    assert shown.page.locator(".stage canvas").bounding_box()["height"] > 280


def test_writing_steps_are_rows(show: Callable[..., Any]) -> None:
    shown = show("writer")
    shown.open("heat_map")
    made = writer().manifest.examples[0].made
    assert made is not None
    shown.page.get_by_label("All writing steps").fill("2")
    shown.settle()
    assert f"writing step 2: {made[2]}" in shown.declared
    head, rows = shown.table()
    assert {int(r[1]) for r in rows} == {writer().manifest.examples[0].sites[0].rows - len(made) + 2}
    assert head[4] == "weight"


def test_a_generation_opens_with_the_written_text(show: Callable[..., Any]) -> None:
    shown = show("writer")
    made = writer().manifest.examples[0].made
    assert made is not None
    assert shown.page.locator("[data-view=written]").count() == 1
    assert f"before it wrote “{made[0]}” (token 1 of 5)" in shown.declared
    shown.press("ArrowRight", "ArrowRight")
    assert f"“{made[2]}” (token 3 of 5)" in shown.declared
    sites = range(len(writer().manifest.examples[0].sites))
    weights = np.mean([site_weights(writer(), 0, s).mean(0) for s in sites], axis=0)
    _, rows = shown.table()
    row = weights[len(weights) - len(made) + 2]
    for _, place, weight in rows:
        assert float(weight) == pytest.approx(float(row[int(place)]), abs=6e-4)
    assert len(rows) == np.count_nonzero(row > 0)


def test_model_view_enlarges_and_sorts(show: Callable[..., Any]) -> None:
    shown = show("bert")
    shown.open("model_view")
    before = shown.page.locator(".stage canvas").bounding_box()["height"]
    shown.point(110, 40, click=True)
    assert shown.page.locator(".stage canvas").bounding_box()["height"] > before
    assert shown.page.get_by_role("button", name="Open in the heat map").is_visible()
    shown.pick("Order", "by importance")
    _, rows = shown.table()
    drops = [float(r[4]) for r in rows if r[4]]
    assert drops == sorted(drops, reverse=True)
    assert len(rows) == 72
    shown.pick("Order", "by role")
    _, rows = shown.table()
    roles = [r[3] for r in rows]
    named = [r for r in roles if r]
    assert named == sorted(named)
    assert roles.index(named[-1]) < len(named)
    shown.page.get_by_role("button", name="Open in the heat map").click()
    shown.settle()
    assert shown.page.locator("[data-view=heat_map]").count() == 1


def test_flow_is_the_rollout_of_one_row(show: Callable[..., Any]) -> None:
    shown = show("bert")
    shown.open("flow")
    pack = bert()
    layers = [site_weights(pack, 0, s).mean(0).astype(np.float64) for s in range(6)]
    layers = [w / w.sum(-1, keepdims=True) for w in layers]
    wanted = np.asarray(rollout(layers, residual=0.5))[0]
    _, rows = shown.table()
    found = np.zeros(len(wanted))
    for _, place, share in rows:
        found[int(place)] = float(share)
    np.testing.assert_allclose(found, wanted, atol=2e-3)
    shown.pick("From", "3 is")
    assert shown.declared.startswith("from is back to the inputs through 6 layers")


def test_token_text_sums_sub_words_to_words(show: Callable[..., Any]) -> None:
    shown = show("bert")
    example = bert().manifest.examples[1]
    shown.pick("Example", f"1: {example.title}")
    shown.open("token_text")
    values = relevance_of(bert(), 1)
    head, rows = shown.table()
    assert head[1:] == [m.name for m in example.methods]
    word = next(r for r in rows if r[0] == "suberp")
    pieces = [i for i, g in enumerate(example.units.groups) if example.units.groups.count(g) > 1 and g >= 0]
    assert len(pieces) > 1
    np.testing.assert_allclose([float(x) for x in word[1:]], values[:, pieces].sum(1), atol=6e-4)
    shown.page.get_by_role("checkbox", name="Words").uncheck()
    shown.settle()
    assert len(shown.table()[1]) == len(rows) + len(pieces) - 1
    shown.page.get_by_role("button", name="rollout").click()
    shown.settle()
    assert "rollout" not in shown.table()[0]


def test_alignment_frames_the_strongest_source(show: Callable[..., Any]) -> None:
    shown = show("translator")
    shown.open("alignment")
    example = translator().manifest.examples[0]
    cross = max(i for i, s in enumerate(example.sites) if s.kind == "cross")
    weights = site_weights(translator(), 0, cross).mean(0)
    _, rows = shown.table()
    assert [r[1] for r in rows] == [f"s{k}" for k in weights.argmax(1)]
    assert [r[0] for r in rows] == example.made
    right = sum(int(k) == q for q, k in enumerate(weights.argmax(1)))
    assert f"{right} of {len(rows)} target tokens look most at a right one" in shown.declared


def test_a_word_shows_its_patches_and_a_patch_its_words(show: Callable[..., Any]) -> None:
    shown = show("words_and_patches")
    shown.open("image_overlay")
    weights = site_weights(words_and_patches(), 0, 1).mean(0)
    box = shown.page.locator(".stage canvas").bounding_box()
    shown.point(40, box["height"] - 38, click=True)  # the first word
    assert "seen from word0" in shown.declared
    _, rows = shown.table()
    found = {name: float(v) for name, v in rows}
    names = words_and_patches().manifest.examples[0].axes[0].names
    for place in (10, 11, 3):
        assert found[names[place]] == pytest.approx(float(weights[0, place]), abs=6e-4)
    shown.point(40, 40, click=True)  # the first patch
    assert "seen from patch 0" in shown.declared
    _, rows = shown.table()
    assert {n for n, _ in rows} >= {"word0", "word8", "patch 3"}


def test_words_of_another_tower_and_patches_show_each_other(show: Callable[..., Any]) -> None:
    """Cross-attention: those who look are words, what is looked at are patches."""
    shown = show("two_towers")
    shown.open("image_overlay")
    example = two_towers().manifest.examples[0]
    cross = max(i for i, s in enumerate(example.sites) if s.kind == "cross")
    weights = site_weights(two_towers(), 0, cross).mean(0)
    box = shown.page.locator(".stage canvas").bounding_box()
    shown.point(40, box["height"] - 38, click=True)  # the first word
    assert "seen from word0" in shown.declared
    _, rows = shown.table()
    found = {name: float(v) for name, v in rows}
    assert found["patch 3"] == pytest.approx(float(weights[0, 4]), abs=6e-4)
    shown.point(40, 40, click=True)  # the first patch, and back to the words
    assert "who looks at patch 0" in shown.declared
    _, rows = shown.table()
    found = {name: float(v) for name, v in rows}
    assert found == {f"word{i}": pytest.approx(float(w), abs=6e-4) for i, w in enumerate(weights[:, 1])}


def test_two_towers_show_what_a_word_and_a_patch_are_worth_together(show: Callable[..., Any]) -> None:
    """CLIP: no attention goes from words to patches, and the picture says what is shown instead."""
    example = clip().manifest.examples[0]
    values = np.frombuffer(gzip.decompress(clip().chunks["0/map/0"]), "<f4").reshape(6, 65)
    seen = example.axes[example.maps[0].columns].names
    shown = show("clip")
    shown.open("image_overlay")
    assert "without each patch, with the whole text" in shown.declared
    assert "No attention goes from words to patches" in shown.declared
    assert shown.page.locator(".caveat").count() == 0, "nothing of this is attention"
    shown.page.locator(".stage").focus()
    for key in (*["ArrowDown"] * 9, "ArrowRight", "ArrowRight", "Enter"):  # through the patches to the words below
        shown.page.keyboard.press(key)
    shown.settle()
    assert "each patch with orange" in shown.declared
    _, rows = shown.table()
    wanted = dict(zip(seen, values[2].tolist(), strict=True))
    assert len(rows) == 60
    assert all(float(v) == pytest.approx(wanted[n], rel=0.06, abs=6e-4) for n, v in rows)
    shown.point(40, 40, click=True)  # a patch, and back to the words
    assert "each word with r0c0" in shown.declared
    _, rows = shown.table()
    assert {n for n, _ in rows} == {"whole text", "an", "orange", "disc", "at", "night"}
    shown.page.get_by_label("Shown", exact=True).select_option(label="attention")
    assert shown.page.locator(".caveat").count() == 1


def test_a_long_text_that_lies_can_be_dragged(show: Callable[..., Any]) -> None:
    names = [chr(0x4E00 + i) for i in range(90)]
    shown = show(given(names, heads=1, layers=1), width=700)
    shown.open("head_view")
    box = shown.page.locator(".stage canvas").bounding_box()
    before = shown.ink()
    shown.page.mouse.move(box["x"] + 300, box["y"] + 60)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 40, box["y"] + 60, steps=5)
    shown.page.mouse.up()
    shown.point(30, 40)
    assert shown.readout.split()[0] == names[20 + round((30 - 8 - 6.5) / 13)]
    assert before > 500
    for _ in range(60):
        shown.page.locator(".stage").focus()
        shown.page.keyboard.press("ArrowRight")
    assert shown.readout.split()[0] in names[75:]


def test_a_pooled_map_says_which_block_a_number_is_of(show: Callable[..., Any]) -> None:
    shown = show("long")
    shown.open("heat_map")
    shown.press("ArrowDown")
    assert "largest weight of queries 0–5, keys 0–5:" in shown.readout
    assert "±" not in shown.readout
    shown.open("head_view")
    assert "heads 1 are kept only pooled" in shown.declared


def test_a_picture_shows_relevance_too(show: Callable[..., Any]) -> None:
    shown = show("digits")
    shown.open("image_overlay")
    shown.pick("Shown", "input_x_gradient")
    values = relevance_of(digits(), 0)[1]
    _, rows = shown.table()
    assert float(rows[0][1]) == pytest.approx(float(values[np.abs(values).argmax()]), abs=6e-4)


def test_the_walk_through_leads_to_the_captured_weights(show: Callable[..., Any]) -> None:
    shown = show("bert")
    shown.open("walkthrough")
    walk = bert().manifest.examples[0].walks[0]
    weights = head_weights(bert(), 0, walk.site, walk.head)[walk.query]
    _, rows = shown.table()
    np.testing.assert_allclose([float(r[-1]) for r in rows], weights[walk.keys], atol=2e-3)
    shown.pick("Row", "L5H3 [CLS]")
    assert shown.declared.startswith("L5H3")


def test_compare_gives_both_maps_the_difference_and_the_numbers(show: Callable[..., Any]) -> None:
    shown = show("bert")
    shown.open("compare")
    assert "places of A have no counterpart in B" in shown.declared
    numbers = dict(shown.page.locator("[data-numbers] tr").evaluate_all(
        "rows => rows.map(r => [...r.children].map(c => c.textContent))"
    ))  # fmt: skip
    first, second = bert().manifest.examples
    moved = 0.5 * np.abs(np.subtract(first.distribution, second.distribution)).sum()
    assert float(numbers["answer moved by (total variation)"]) == pytest.approx(moved, abs=6e-4)
    assert "only in A: superb" in shown.declared
    assert "example 0" in shown.declared
    # places without a counterpart are left out; the mass on them is one more outcome
    a, b = (site_weights(bert(), e, 5).mean(0) for e in (0, 1))
    origin = np.array(bert().manifest.pairs[0].origin)
    right = np.flatnonzero(origin >= 0)
    ends = [[len(m) - 1] for m in (a, b)]  # the last token is special: found by its name
    left, right = np.append(origin[right], ends[0]), np.append(right, ends[1])
    inner = 0.5 * np.abs(a[np.ix_(left, left)] - b[np.ix_(right, right)]).sum(1)
    rest = 0.5 * np.abs(a[np.ix_(left, left)].sum(1) - b[np.ix_(right, right)].sum(1))
    wanted = float((inner + rest).mean())
    assert float(numbers[f"total variation, mean over {len(left)} rows"]) == pytest.approx(wanted, abs=5e-3)
    shown.pick("B", "the other attention that the audit found")
    a = site_weights(bert(), 0, 5).mean(0)
    variation = 0.5 * np.abs(a - a[:, ::-1]).sum(1).mean()
    _, rows = shown.table()
    assert float(rows[0][1]) == pytest.approx(float(variation), abs=5e-3)
    shown.pick("Shown", "relevance")
    shown.pick("B", "the same example")
    shown.pick("Method B", "rollout")
    _, rows = shown.table()
    assert rows[0][0].startswith("Kendall's tau-b")
    assert -1 <= float(rows[0][1]) <= 1


def test_tabs_and_pictures_are_reached_by_keyboard_alone(show: Callable[..., Any]) -> None:
    shown = show("bert")
    shown.page.locator("#tab-head_view").focus()
    shown.page.keyboard.press("ArrowRight")
    shown.settle()
    assert shown.page.locator("[data-view=model_view]").count() == 1
    seen = set()
    for _ in range(12):
        shown.page.keyboard.press("Tab")
        seen.add(shown.page.evaluate(FOCUSED))
    assert "stage" in seen
    shown.press("ArrowRight", "ArrowDown", "Enter")
    assert shown.page.get_by_role("button", name="Open in the heat map").is_visible()


def test_a_hover_is_drawn_before_the_next_frame(show: Callable[..., Any]) -> None:
    """Not one frame later: at 60 of them in a second that would be a third of what a hover may take."""
    shown = show("chinese")
    shown.open("head_view")
    waited = shown.page.evaluate(
        "async () => { const c = document.querySelector('[data-regard-viewer]').shadowRoot.querySelector('canvas');"
        " const box = c.getBoundingClientRect(), before = c.dataset.drawn; let frames = 0, on = true;"
        " const count = () => { frames++; if (on) requestAnimationFrame(count); }; requestAnimationFrame(count);"
        " c.dispatchEvent(new PointerEvent('pointermove',"
        " { clientX: box.left + 40, clientY: box.top + 40, bubbles: true }));"
        " for (let i = 0; i < 400 && c.dataset.drawn === before; i++) await (i < 20 ? Promise.resolve() :"
        " new Promise((r) => setTimeout(r, 5))); on = false; return [frames, c.dataset.drawn !== before]; }"
    )
    assert waited == [0, True]


def test_names_cannot_run_or_break_the_page(show: Callable[..., Any]) -> None:
    evil = [
        "</script><script>window.pwned=1</script>",
        "<img src=x onerror=window.pwned=2>",
        "<!--",
        "a&b\"'",
        "\x00\u2028",
    ]
    shown = show(given(evil))
    for view in ("head_view", "heat_map", "flow", "model_view", "compare"):
        shown.open(view)
        assert shown.ink() > 500
        shown.press("ArrowDown")
    _, rows = shown.table()
    assert rows
    shown.open("heat_map")
    assert evil[0] in {cell for row in shown.table()[1] for cell in row}
    assert shown.page.evaluate("() => window.pwned ?? null") is None


def test_nothing_moves_while_it_loads(show: Callable[..., Any]) -> None:
    shown = show("bert")
    moved = shown.page.evaluate(
        "() => new Promise((done) => { let sum = 0; new PerformanceObserver((l) => { for (const e of l.getEntries())"
        " sum += e.value; }).observe({ type: 'layout-shift', buffered: true }); setTimeout(() => done(sum), 200); })"
    )
    assert moved < 0.01


def test_reset_clears_what_the_user_did_and_nothing_else(show: Callable[..., Any]) -> None:
    shown = show("bert")
    shown.open("heat_map")
    before = shown.declared
    shown.pick("Heads", "max")
    shown.press("+")
    shown.page.get_by_role("button", name="Reset").click()
    shown.settle()
    assert shown.declared == before


@pytest.mark.parametrize("width", [420, 820, 1240])
def test_no_view_is_wider_than_the_page(show: Callable[..., Any], width: int) -> None:
    shown = show("bert", width=width)
    for view in SAMPLES["bert"][1]:
        shown.open(view)
        assert shown.page.evaluate("() => document.documentElement.scrollWidth") <= width


LISTEN = """() => { window.contexts = []; window.started = []; window.peaks = [];
  window.AudioContext = class extends AudioContext { constructor() { super(); window.contexts.push(this); } };
  const start = AudioBufferSourceNode.prototype.start;
  AudioBufferSourceNode.prototype.start = function (...when) { window.started.push(when);
    window.peaks.push(Math.max(...this.buffer.getChannelData(0).slice(0, 12000))); start.apply(this, when); }; }"""


def test_a_sound_plays_whole_and_from_the_place_that_is_clicked(show: Callable[..., Any]) -> None:
    shown = show("sound")
    shown.open("sound_overlay")
    shown.page.evaluate(LISTEN)
    shown.page.get_by_role("button", name="Play").click()
    shown.page.wait_for_function("() => window.contexts[0]?.currentTime > 0")  # it really plays
    assert shown.page.evaluate("window.started") == [[0, 0, pytest.approx(2.0)]]
    assert shown.page.evaluate("window.peaks[0]") == pytest.approx(1.0, abs=0.05)
    box = shown.page.locator("canvas").bounding_box()
    shown.page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 60)
    shown.page.wait_for_function("() => window.started.length === 2")
    _, begin, length = shown.page.evaluate("window.started[1]")
    assert 0.5 < begin < 1.2  # names stand at the left
    assert begin * 10 == pytest.approx(round(begin * 10))  # where a unit begins
    assert length == pytest.approx(0.25)
    assert not shown.problems
