"""`fashion_mnist`: real small pictures of clothes."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.datasets import sampling
from regard.datasets.archives import archives_folder
from regard.datasets.examples import Examples
from regard.datasets.splits import FRACTIONS, checked, split_of
from regard.errors import EnvironmentProblem, UnknownName, phrase
from regard.files import reason
from regard.records import Example, Message, frozen
from regard.registry import method

NAMES = ("T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
INSTALLED = Path("/usr/share/datasets/fashion-mnist")
SHA256 = {
    "t10k-images-idx3-ubyte.gz": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte.gz": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    "train-images-idx3-ubyte.gz": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte.gz": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
}
"""Hashes of the unpacked files of the Debian package dataset-fashion-mnist 0.0~git20200523.55506a9-1."""
SIDE = 28


@method("dataset", modality="image", licence="MIT", package="dataset-fashion-mnist (Debian)", real=True)
def fashion_mnist(*, split: str = "test", n: int | None = None, classes: str = "", seed: int = 0) -> Examples:
    """70,000 grey pictures of clothes, 28 x 28 bytes, ten classes; test is the published 10,000.

    Train and dev are 90 % and 10 % of the published training pictures, by a hash. Reference: Xiao et al. 2017. The
    files come from the Debian package; elsewhere, put the four .gz files into `archives/fashion-mnist` of the cache.
    classes: names joined by + ("pullover+dress"); default: all ten.
    """
    names = tuple(classes.split("+")) if classes else NAMES
    for name in names:
        if name not in NAMES:
            raise UnknownName("fashion_mnist.classes", name, NAMES)
    split = checked(split)
    items = []
    for part in ("t10k", "train"):
        if part == "t10k" and split in ("train", "dev"):
            continue
        if part == "train" and split == "test":
            continue
        items += [e for e in _pictures(part) if split in ("all", "test") or _home(e.id) == split]
    if classes:
        numbers = {NAMES.index(name): i for i, name in enumerate(names)}
        items = [replace(e, label=numbers[int(str(e.label))]) for e in items if int(str(e.label)) in numbers]
    note = Message.of("data.fashion_mnist", n=len(items), split=split)
    sample = tuple(sampling.stratified(items, n, seed=seed))
    notes = (note,) if len(sample) == len(items) else (note, sampling.note(len(sample), len(items), seed=seed))
    return Examples("fashion_mnist", sample, names, notes, modality="image")


def _home(ident: str) -> str:
    """Return train or dev; the published test pictures are the test split."""
    share = FRACTIONS["train"] + FRACTIONS["test"]
    return split_of(ident, fractions={"train": share, "dev": 1 - share})


def _pictures(part: str) -> list[Example]:
    pixels = _numbers(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, SIDE, SIDE)
    labels = _numbers(f"{part}-labels-idx1-ubyte.gz", 8)
    return [
        Example(f"{part}-{i:05d}", {"image": frozen(image, np.uint8)}, int(label))
        for i, (image, label) in enumerate(zip(pixels, labels, strict=True))
    ]


def _numbers(name: str, header: int) -> NDArray[np.uint8]:
    """Verified bytes of an IDX file after its header."""
    folder = archives_folder() / "fashion-mnist"
    path = next((home / name for home in (INSTALLED, folder) if (home / name).is_file()), None)
    remedy = phrase("errors.datasets.apt_get_install_dataset_fashion", folder=folder)
    if path is None:
        raise EnvironmentProblem(
            phrase("errors.datasets.data_fashion_mnist"),
            expected=phrase("errors.datasets.name_in_folders", name=name, installed=INSTALLED, folder=folder),
            got=phrase("errors.common.no_such_file"),
            remedy=remedy,
        )
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise EnvironmentProblem(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.datasets.gz_file"),
            got=reason(error),
            remedy=remedy,
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256[name]:
        expected = f"sha256 {SHA256[name][:12]}..."
        raise EnvironmentProblem(
            phrase("errors.common.file_place", place=path), expected=expected, got=f"{digest[:12]}...", remedy=remedy
        )
    return np.frombuffer(content, np.uint8, offset=header)
