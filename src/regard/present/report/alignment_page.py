"""Alignments as one static HTML page: words over a waveform that can be played, or beside their source words."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.datasets.formats.sounds import wav_bytes
from regard.present.alignment_words import rates, rule_sentence, where
from regard.present.messages.messages import columns, render, say
from regard.present.palette import MINUS, PLUS
from regard.present.report.markup import Html, page, table, tag
from regard.records import Floats
from regard.store.blobs import write_output

WIDTH, HEIGHT, STRIP = 900, 120, 26
BANDS = 48
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse}
th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:left}td{font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}figure{margin:0}small{color:#555}audio{width:100%}svg{width:100%;height:auto;display:block}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; media-src data:; img-src data:"


def alignment_page(facts: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of the JSON of `Alignments`; inputs: the input of each example, for its waveform."""
    title = say("align.title", model=facts["model"])
    rows = rates(facts)
    return page(
        title,
        STYLE,
        POLICY,
        tag("p", None, tag("strong", None, say("align.caveat"))),
        tag("p", None, rule_sentence(facts)),
        table(columns("align.rates"), rows) if rows else None,
        [_example(example, given, facts["modality"]) for example, given in zip(facts["examples"], inputs, strict=True)],
        [tag("p", None, tag("small", None, render(note))) for note in facts["notes"]],
    )


def write_alignment_page(facts: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the page."""
    write_output(Path(path), alignment_page(facts, inputs).encode())


def _example(example: Mapping[str, Any], given: Mapping[str, Any], modality: str) -> Html:
    sound = modality == "audio"
    key = "align.read" if example["expected"] else "align.wrote"
    rows = [
        (w["word"], where(w, sound=sound), "" if w["weight"] is None else f"{w['weight']:.0%}")
        for w in example["words"]
    ]
    overlay = None
    if sound and given.get("audio") is not None:
        overlay = _overlay(np.asarray(given["audio"], np.float64), int(given.get("rate") or 16000), example["words"])
    return tag(
        "section",
        None,
        tag("h2", None, say(key, id=example["id"], text=example["written"])),
        None if sound else tag("p", None, example["source"]),
        overlay,
        table(columns("align.columns_time" if sound else "align.columns"), rows),
    )


def _overlay(sound: Floats, rate: int, words: Sequence[Mapping[str, Any]]) -> Html:
    """Draw the waveform with a bar for every word, the spectrogram below it on the same time axis, and the player."""
    seconds = len(sound) / rate
    chunks = np.array_split(np.abs(sound), min(len(sound), WIDTH // 2))
    peaks = [float(chunk.max(initial=0.0)) for chunk in chunks]
    top, middle = max(peaks) or 1.0, STRIP + HEIGHT / 2
    step = WIDTH / len(peaks)
    shape = [
        tag(
            "rect",
            {
                "x": round(i * step, 1),
                "y": round(middle - peak / top * HEIGHT / 2, 1),
                "width": round(step, 1),
                "height": round(max(0.5, peak / top * HEIGHT), 1),
                "fill": "#666",
            },
        )
        for i, peak in enumerate(peaks)
    ]
    marks: list[Html] = []
    for k, word in enumerate(words):
        x, end = (WIDTH * word[edge] / seconds for edge in ("start", "end"))
        colour = f"rgb{(PLUS, MINUS)[k % 2]}"
        place = {"x": round(x, 1), "width": round(max(1.0, end - x), 1)}
        name = tag("title", None, f"{word['word']} {where(word, sound=True)}")
        marks.append(tag("rect", {**place, "y": STRIP, "height": HEIGHT, "fill": colour, "fill-opacity": 0.25}, name))
        label = {"x": round(x, 1), "y": 10 + 11 * (k % 2), "font-size": 11, "fill": "#1a1a1a"}
        marks.append(tag("text", label, word["word"]))
    encoded = base64.b64encode(wav_bytes(sound, rate)).decode()
    box = {"viewBox": f"0 0 {WIDTH} {STRIP + HEIGHT}", "role": "img", "aria-label": say("align.waveform")}
    return tag(
        "figure",
        None,
        tag("svg", box, shape, marks),
        _spectrogram(sound),
        tag("audio", {"controls": "", "src": f"data:audio/wav;base64,{encoded}"}),
    )


def _spectrogram(sound: Floats) -> Html:
    """Loudness by time and frequency, 60 dB deep: one column per 4 points of the drawing."""
    size = 512
    starts = np.linspace(0, max(0, len(sound) - size), WIDTH // 6).astype(int)
    padded = np.pad(sound, (0, max(0, size - len(sound))))
    frames = np.stack([padded[s : s + size] * np.hanning(size) for s in starts])
    power = np.abs(np.fft.rfft(frames, axis=1)[:, 1:]) ** 2
    bands = np.stack([part.mean(1) for part in np.array_split(power, BANDS, axis=1)], axis=1)
    loud = 10 * np.log10(np.maximum(bands, 1e-12))
    shade = np.clip((loud - loud.max() + 60) / 60, 0, 1)
    tall, broad = 2, WIDTH / len(starts)
    cells = [
        tag(
            "rect",
            {
                "x": round(i * broad, 1),
                "y": tall * (BANDS - 1 - b),
                "width": round(broad + 0.2, 1),
                "height": tall,
                "fill-opacity": round(float(shade[i, b]), 2),
            },
        )
        for i in range(len(starts))
        for b in range(BANDS)
        if shade[i, b] > 0.15
    ]
    return tag(
        "svg", {"viewBox": f"0 0 {WIDTH} {tall * BANDS}", "role": "img", "aria-label": say("align.spectrogram")}, cells
    )
