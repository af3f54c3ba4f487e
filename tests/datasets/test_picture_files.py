"""Pictures on disk and in tables: every form gives the same pixels, labels and names."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.datasets.picture_decoder import MOST_PIXELS, decoded
from regard.datasets.read import read
from regard.errors import InputError, UnknownName
from regard.records import Example, Message

RNG = np.random.default_rng(0)
PIXELS = {f"{kind}/{i}.png": RNG.integers(0, 256, (12, 10, 3), np.uint8) for kind in ("cat", "dog") for i in range(3)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    for name, pixels in PIXELS.items():
        (root / name).parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(root / name)
    return root


def _bytes(pixels: np.ndarray, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def _same(examples: object) -> None:
    by_name = {e.id: e for e in examples}  # type: ignore[attr-defined]
    assert set(by_name) == set(PIXELS)
    for name, pixels in PIXELS.items():
        image = by_name[name].inputs["image"]
        assert image.dtype == np.uint8
        assert np.array_equal(image, pixels)
        assert by_name[name].label == name.split("/")[0]


def test_folder_with_a_class_per_sub_folder(folder: Path) -> None:
    data = read(folder)
    _same(data)
    assert (data.modality, data.labels) == ("image", ("cat", "dog"))
    assert {e.label for e in read(folder, limit=2)} == {"cat", "dog"}


def test_table_of_paths(folder: Path) -> None:
    rows = [{"file_name": name, "kind": name.split("/")[0]} for name in PIXELS]
    (folder / "list.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    _same(read(folder / "list.jsonl", label_column="kind"))
    (folder / "list.csv").write_text("where,kind\n" + "\n".join(f"{n},{n.split('/')[0]}" for n in PIXELS), "utf-8")
    _same(read(folder / "list.csv", text_column="where", label_column="kind"))


def test_image_feature_in_memory_on_disk_and_in_parquet(folder: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "id": datasets.Value("string"),
        }
    )
    rows = {"image": list(map(str, (folder / n for n in PIXELS))), "label": [0] * 3 + [1] * 3, "id": list(PIXELS)}
    data = datasets.Dataset.from_dict(rows, features=features)
    embedded = {**rows, "image": [{"bytes": _bytes(p), "path": None} for p in PIXELS.values()]}
    stored = datasets.Dataset.from_dict(embedded, features=features)
    stored.save_to_disk(tmp_path / "saved")
    stored.to_parquet(tmp_path / "rows.parquet")
    for source in (data, tmp_path / "saved", tmp_path / "rows.parquet"):
        table = read(source)
        assert table.labels == ("cat", "dog")
        assert [e.label for e in sorted(table, key=lambda e: e.id)] == [0] * 3 + [1] * 3
        assert all(np.array_equal(e.inputs["image"], PIXELS[e.id]) for e in table)


def test_splits_are_the_outer_folders(folder: Path, tmp_path: Path) -> None:
    for split in ("train", "test"):
        for name, pixels in list(PIXELS.items())[:: 1 if split == "train" else 3]:
            path = tmp_path / split / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
    assert len(read(tmp_path)) == 2
    assert {e.label for e in read(tmp_path, split="train")} == {"cat", "dog"}
    assert len(read(tmp_path, split="all")) == 8
    with pytest.raises(UnknownName, match="holdout"):
        read(tmp_path, split="holdout")


def test_jpeg_grey_palette_transparent_and_sixteen_bits(tmp_path: Path) -> None:
    grey = RNG.integers(0, 256, (9, 7), np.uint8)
    assert decoded(_bytes(grey), "x")[0].shape == (9, 7)
    colour = np.full((16, 16, 3), 200, np.uint8)
    jpeg = decoded(_bytes(colour, "JPEG"), "x")[0]
    assert np.abs(jpeg.astype(int) - colour).max() <= 2
    see_through = np.dstack([colour, np.full((16, 16), 128, np.uint8)])
    assert np.array_equal(decoded(_bytes(see_through), "x")[0], colour)
    deep = decoded(_bytes(grey.astype(np.uint16) * 257), "x")[0]
    assert np.allclose(deep * 255, grey)


def test_picture_is_turned_as_its_camera_says(tmp_path: Path) -> None:
    pixels = np.zeros((8, 4, 3), np.uint8)
    pixels[:4] = 255
    rotated = 6  # the camera was held upright: the first row is the right side
    exif = Image.Exif()
    exif[0x0112] = rotated
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    image = decoded(tmp_path / "a.png", "x")[0]
    assert image.shape == (4, 8, 3)
    assert image[:, 4:].min() == 255


def test_huge_picture_is_averaged_down_and_noted(tmp_path: Path) -> None:
    side = int(MOST_PIXELS**0.5) + 20
    Image.fromarray(np.full((side, side), 7, np.uint8)).save(tmp_path / "a.png")
    data = read(tmp_path)
    assert data[0].inputs["image"].shape == ((side + 1) // 2, (side + 1) // 2)
    assert "data.reduced_pictures" in [note.key for note in data.notes if isinstance(note, Message)]


DAMAGED = {
    "empty": b"",
    "text": b"no picture at all",
    "cut PNG": _bytes(PIXELS["cat/0.png"])[:60],
    "cut JPEG": _bytes(np.zeros((64, 64, 3), np.uint8), "JPEG")[:200],
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_picture_is_one_clear_line(tmp_path: Path, damage: str) -> None:
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "broken.jpg").write_bytes(DAMAGED[damage])
    Image.fromarray(PIXELS["cat/0.png"]).save(tmp_path / "cat" / "whole.png")
    with pytest.raises(InputError) as caught:
        read(tmp_path)
    line = str(caught.value)
    assert "cat/broken.jpg" in line
    assert "\n" not in line
    assert "--skip-bad" in line
    rest = read(tmp_path, skip_bad=True)
    assert [e.id for e in rest] == ["cat/whole.png"]
    assert "data.unusable_pictures" in [note.key for note in rest.notes if isinstance(note, Message)]


def test_empty_folder_and_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an empty"):
        read(tmp_path)
    (tmp_path / "list.csv").write_text("image,label\nnowhere.png,1\n", "utf-8")
    with pytest.raises(InputError, match="nowhere"):
        read(tmp_path / "list.csv")
    (tmp_path / "far.csv").write_text("image,label\nhttps://a.b/c,1\n", "utf-8")
    with pytest.raises(InputError, match="a file on this machine"):
        read(tmp_path / "far.csv")


def test_ids_of_a_single_file_and_repeated_paths(folder: Path) -> None:
    assert [e.id for e in read(folder / "cat" / "0.png")] == ["0.png"]
    (folder / "twice.csv").write_text("image\ncat/0.png\ncat/0.png\n", "utf-8")
    assert [e.id for e in read(folder / "twice.csv")] == ["cat/0.png", "cat/0.png-2"]
    assert isinstance(read(folder)[0], Example)


def test_pairs_of_a_picture_and_its_label_are_read() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (6, 5, 3)).astype(np.uint8)
    pairs, dicts = (
        read(rows)
        for rows in (
            [(Image.fromarray(pixels), "cat"), (Image.fromarray(pixels[::-1]), "dog")],
            [{"image": pixels, "label": "cat"}, {"image": pixels[::-1], "label": "dog"}],
        )
    )
    assert pairs.labels == dicts.labels == ("cat", "dog")
    assert [e.label for e in pairs] == [e.label for e in dicts]
    assert pairs.modality == "image"
