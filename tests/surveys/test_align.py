"""Alignments: known links, the path through a sound, heads chosen on other examples than they are judged on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
import transformers
from click.testing import CliRunner

from regard.cli.root import root
from regard.datasets.builtin.spoken import RATE, spoken_by
from regard.datasets.read import read
from regard.errors import InputError, Unsupported
from regard.measures.alignment import LinkCounts, alignment_error_rate, error_rate_interval, token_links
from regard.measures.keyed_random import keyed_rng
from regard.measures.time_alignment import monotone_path
from regard.models.open.load import load
from regard.records import Example, Message
from regard.surveys.align import align


def beep(word: str) -> np.ndarray:
    """A tone for every letter."""
    time = np.arange(800) / RATE
    return np.concatenate([0.3 * np.sin(2 * np.pi * 100 * (2 + ord(letter) % 20) * time) for letter in word[:3]])


def by_hand(weights: np.ndarray) -> float:
    """The best monotone cut by trying all of them."""
    from itertools import combinations

    tokens, frames = weights.shape
    rows = weights / weights.sum(1, keepdims=True)
    best = 0.0
    for cuts in combinations(range(1, frames), tokens - 1):
        edges = (0, *cuts, frames)
        best = max(best, sum(float(rows[j, edges[j] : edges[j + 1]].sum()) for j in range(tokens)))
    return best / tokens


def test_the_path_is_the_best_of_all_monotone_cuts() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        weights = rng.random((3, 8)) ** 3
        path = monotone_path(weights)
        assert path.mass == pytest.approx(by_hand(weights))
        assert path.first[0] == 0
        assert path.last[-1] == 7
        assert (path.first[1:] == path.last[:-1] + 1).all()


def test_interval_of_the_error_rate_is_about_the_one_set() -> None:
    rng = np.random.default_rng(1)
    counts, links, truth = [], set(), set()
    for i in range(30):
        right = {(i, j, j) for j in range(4)}
        said = {(i, j, j if rng.random() < 0.7 else j + 1) for j in range(4)}
        links |= said
        truth |= right
        counts.append(LinkCounts(len(said & right), len(said & right), len(said), len(right)))
    found = error_rate_interval(counts)
    assert found.estimate == pytest.approx(alignment_error_rate(links, truth))
    assert found.low < found.estimate < found.high


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_models.bart(tmp_path_factory.mktemp("translator"))


def test_links_of_a_file_are_words(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("source,target,alignment\nw1 w2,w3 w4 w5,0-1 1-0 1-2\nw1,w2,\n")
    examples = list(read(file))
    assert [e.label for e in examples] == ["w3 w4 w5", "w2"]
    assert examples[0].alignment == ((0, 2, 3, 5), (3, 5, 0, 2), (3, 5, 6, 8))
    assert examples[1].alignment is None
    file.write_text("source,target,alignment\nw1 w2,w3,0-1\n")
    with pytest.raises(InputError, match=r"names word 1 where the last word is 0"):
        read(file)


def test_error_rates_are_those_of_transformers(translator: str, tmp_path: Path) -> None:
    """Rates on both halves, counted again from the attentions that transformers returns."""
    rows, rng = ["source,target,alignment"], np.random.default_rng(0)
    for _ in range(8):
        words = rng.permutation(tiny_models.WORDS)[:5]
        rows.append(f"{' '.join(words)},{' '.join(words[::-1])},{' '.join(f'{4 - j}-{j}' for j in range(5))}")
    (tmp_path / "pairs.csv").write_text("\n".join(rows) + "\n")
    data = list(read(tmp_path / "pairs.csv"))
    result = align(translator, data)
    assert result.rule == "gold"
    assert result.chosen is not None
    native = transformers.BartForConditionalGeneration.from_pretrained(translator, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(translator)
    hits: dict[int | None, list[int]] = {0: [], 1: [], None: []}
    for example in data:
        texts = (str(example.inputs["text"]), str(example.label))
        source, target = (tokenizer(text, return_tensors="pt").input_ids for text in texts)
        with torch.no_grad():
            out = native(input_ids=source, labels=target, output_attentions=True)
        weights = out.cross_attentions[0][0].numpy()
        for head, rows_of_head in ((0, weights[0]), (1, weights[1]), (None, weights.mean(0))):
            hits[head].append(sum(int(rows_of_head[j].argmax()) == 4 - j for j in range(5)))
    order = keyed_rng(0, "align", 8).permutation(8)
    choice, held_out = order[:4], order[4:]
    for found in result.heads:
        mine = 1 - sum(hits[found.head.number][int(i)] for i in choice) / 20
        assert found.rate.estimate == pytest.approx(mine)
    best = min(hits, key=lambda head: (1 - sum(hits[head][int(i)] for i in choice) / 20, head is None, head))
    assert result.chosen.head.number == best
    assert result.chosen.rate.estimate == pytest.approx(1 - sum(hits[best][int(i)] for i in held_out) / 20)
    assert [w.word for w in result.examples[0].words] == str(data[0].label).split()


def test_words_of_a_sound_have_times(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tiny_models.whisper(tmp_path_factory.mktemp("heard"))
    result = align(folder, [Example("beep", {"audio": np.tile(beep("abc"), 3), "rate": RATE})])
    assert result.rule == "path"
    times = [(word.start, word.end) for word in result.examples[0].words]
    assert times == sorted(times)
    assert all(0 <= start < end <= 0.46 for start, end in times)


def test_spoken_words_lie_where_the_links_say() -> None:
    example = spoken_by(beep, n=1)[0]
    sound = example.inputs["audio"]
    assert [example.label[c:d] for _, _, c, d in example.alignment] == example.label.split()
    loud = np.zeros(len(sound), bool)
    for a, b, _, _ in example.alignment:
        loud[a:b] = True
    assert np.abs(sound[~loud]).max() == 0
    assert (np.abs(sound[loud]) > 0).mean() > 0.95
    frames = [(320 * i, 320 * (i + 1)) for i in range(len(sound) // 320)]
    links = token_links(example.alignment, frames, [(c, d) for _, _, c, d in example.alignment])
    assert links.targets == frozenset(range(len(example.label.split())))


def test_a_classifier_cannot_be_aligned() -> None:
    with pytest.raises(Unsupported, match="encoder and a decoder"):
        align("planted:decides", [Example("x", {"text": "good"})])


def test_command_and_page(tmp_path: Path) -> None:
    from regard.datasets.formats.sounds import write_wav

    folder = tiny_models.whisper(tmp_path / "model")
    write_wav(tmp_path / "a.wav", beep("word"), 8000)  # a note about the rate belongs to the result
    page = tmp_path / "page.html"
    run: Any = CliRunner().invoke(root, ["align", folder, "--audio", str(tmp_path / "a.wav"), "--html", str(page)])
    assert run.exit_code == 0, run.output
    assert " s " in run.output
    text = page.read_text()
    assert "data:audio/wav;base64," in text
    assert text.count("<svg") == 2
    assert "8000 Hz" in text


def test_long_sounds_are_read_in_pieces_and_silence_is_named(tmp_path: Path) -> None:
    model = load(tiny_models.whisper(tmp_path), device="cpu")
    long = Example("talk", {"audio": np.zeros(20000), "rate": 8000})
    pieces = model.windows(long)
    assert [p.id for p in pieces] == ["talk@0s", "talk@1s", "talk@2s"]
    assert {p.parent for p in pieces} == {"talk"}
    assert sum(len(p.inputs["audio"]) for p in pieces) == 20000
    model.encode(pieces[0])
    assert Message.of("data.silent_sound", name="talk@0s") in model.notes
