"""Every format gives the same examples; columns are chosen or guessed aloud; big files are sampled."""

from __future__ import annotations

import csv
import gzip
import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from regard.datasets.read import read
from regard.present.messages.messages import rendered

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

Rows = Sequence[Mapping[str, Any]]
ROWS: Rows = [
    {"sentence": 'a good, "fine" film\nin two lines', "label": 1, "who": "ann", "rationale": [[2, 6]]},
    {"sentence": "ein schöner Film 电影 🎬", "label": 1, "who": "ann", "rationale": [[4, 11]]},
    {"sentence": "bad", "label": 0, "who": "bob", "rationale": []},
]


def write_csv(path: Path, rows: Rows, separator: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        cells = ({k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows)
        writer.writerows(cells)
    return path


def write_gz(path: Path, rows: Rows) -> Path:
    plain = write_csv(path.with_suffix(""), rows)
    path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


def write_jsonl(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows), "utf-8")
    return path


def write_json(path: Path, rows: Rows) -> Path:
    path.write_text(json.dumps(rows, indent=1), "utf-8")
    return path


def write_parquet(path: Path, rows: Rows) -> Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


def write_arrow(path: Path, rows: Rows) -> Path:
    """What `datasets` writes for one undivided data set."""
    path.mkdir()
    table = pyarrow.Table.from_pylist(list(rows))
    with pyarrow.ipc.new_stream(str(path / "data-00000-of-00001.arrow"), table.schema) as out:
        out.write_table(table)
    (path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    return path


FORMATS: dict[str, Callable[[Path, Rows], Path]] = {
    "rows.csv": write_csv,
    "rows.tsv": lambda p, r: write_csv(p, r, "\t"),
    "semicolons.csv": lambda p, r: write_csv(p, r, ";"),
    "rows.csv.gz": write_gz,
    "rows.jsonl": write_jsonl,
    "rows.ndjson": write_jsonl,
    "rows.json": write_json,
    "rows.parquet": write_parquet,
    "saved": write_arrow,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_examples(name: str, tmp_path: Path) -> None:
    path = FORMATS[name](tmp_path / name, ROWS)
    data = read(path, group_column="who", slice_columns=["who"])
    assert [e.inputs["text"] for e in data] == [row["sentence"] for row in ROWS]
    assert [e.label for e in data] == [1, 1, 0]
    assert [e.group for e in data] == ["ann", "ann", "bob"]
    assert [dict(e.slices) for e in data] == [{"who": "ann"}, {"who": "ann"}, {"who": "bob"}]
    assert [e.rationale for e in data] == [((2, 6),), ((4, 11),), ()]
    assert len({e.id for e in data}) == 3
    reference = read(write_csv(tmp_path / "reference.csv", ROWS), group_column="who", slice_columns=["who"])
    assert data.fingerprint == reference.fingerprint
    assert "text column: 'sentence' (guessed; override with --text-column)" in rendered(data.notes)
    assert "label column: 'label' (guessed; override with --label-column)" in rendered(data.notes)


def test_a_real_datasets_directory(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    names = datasets.ClassLabel(names=["neg", "pos"])
    features = datasets.Features({"text": datasets.Value("string"), "label": names})

    def part(words: list[str], labels: list[int]) -> Any:
        return datasets.Dataset.from_dict({"text": words, "label": labels}, features=features)

    both = datasets.DatasetDict({"train": part(["one", "two"], [0, 1]), "validation": part(["three", "four"], [1, -1])})
    both.save_to_disk(str(tmp_path / "saved"))
    data = read(tmp_path / "saved")
    assert [e.inputs["text"] for e in data] == ["three", "four"]
    assert [e.label for e in data] == [1, None], "-1 is how a withheld label is written"
    assert data.labels == ("neg", "pos")
    assert "split: validation of train, validation (guessed; override with --split)" in rendered(data.notes)
    assert [e.inputs["text"] for e in read(tmp_path / "saved", split="train")] == ["one", "two"]
    assert [e.inputs["text"] for e in read(tmp_path / "saved", split="dev")] == ["three", "four"]
    assert len(read(tmp_path / "saved", split="all")) == 4
    # a clone of a data repository: Parquet files named after their splits, features in the schema
    clone = tmp_path / "clone" / "data"
    clone.mkdir(parents=True)
    both["train"].to_parquet(str(clone / "train-00000-of-00001.parquet"))
    both["validation"].to_parquet(str(clone / "validation-00000-of-00001.parquet"))
    cloned = read(tmp_path / "clone", split="train")
    assert ([e.inputs["text"] for e in cloned], cloned.labels) == (["one", "two"], ("neg", "pos"))


@pytest.mark.parametrize(
    ("columns", "inputs"),
    [
        ({"premise": "a b", "hypothesis": "c d", "label": "x"}, {"text": "a b", "text_pair": "c d"}),
        ({"question": "who is it ?", "context": "me", "answers": "me"}, {"text": "who is it ?", "text_pair": "me"}),
        ({"TEXT": "words here", "other": "longer words are over here"}, {"text": "words here"}),
        ({"alpha": "x", "beta": "many words stand here", "gamma": "2"}, {"text": "many words stand here"}),
        ({"only": "word"}, {"text": "word"}),
        ({"title": "a title", "review": "a long review", "rating": "4"}, {"text": "a long review"}),
        ({"note": "x", "Review Body": "many words stand here", "Author ID": "a"}, {"text": "many words stand here"}),
        ({"note": "seen at night", "place": "a ward"}, {"text": "seen at night"}),
    ],
)
def test_columns_are_guessed_from_names_and_words(
    columns: dict[str, str], inputs: dict[str, str], tmp_path: Path
) -> None:
    data = read(write_csv(tmp_path / "d.csv", [columns]))
    assert data[0].inputs == inputs
    assert any("guessed" in note for note in rendered(data.notes))


def test_chosen_columns_are_not_guessed_and_an_empty_name_means_none(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "d.csv", [{"text": "not this", "body": "but this", "label": "1", "id": "a"}])
    data = read(path, text_column="body", label_column="", id_column="")
    assert data[0].inputs == {"text": "but this"}
    assert data[0].label is None
    assert data[0].id != "a"
    assert rendered(data.notes) == ["no labels: everything is about the predicted class"]
    paired = read(path, text_column="body", pair_column="text")
    assert paired[0].inputs == {"text": "but this", "text_pair": "not this"}
    assert paired[0].id == "a"


@pytest.mark.parametrize(
    ("cells", "labels", "names"),
    [
        (["0", "1", "1"], [0, 1, 1], ()),
        (["0.5", "1", "-2e3"], [0.5, 1.0, -2000.0], ()),
        (["pos", "neg", "pos"], ["pos", "neg", "pos"], ("neg", "pos")),
        (["1", "neg", ""], ["1", "neg", None], ("1", "neg")),
        (['["a", "b"]', "[]", '["b"]'], [["a", "b"], [], ["b"]], ()),
        (["", "", ""], [None, None, None], ()),
    ],
)
def test_labels_of_a_csv_are_read_as_what_they_all_are(
    cells: list[str], labels: list[Any], names: tuple[str, ...], tmp_path: Path
) -> None:
    rows = [{"text": f"text {i}", "label": cell} for i, cell in enumerate(cells)]
    data = read(write_csv(tmp_path / "d.csv", rows))
    assert [e.label for e in data] == labels
    assert [type(e.label) for e in data] == [type(label) for label in labels]
    assert data.labels == names
    assert any("have no label" in note for note in rendered(data.notes)) == (None in labels)


def test_label_names_can_be_given(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "d.csv", [{"text": "a", "label": 0}])
    assert read(path, labels=["no", "yes"]).labels == ("no", "yes")
    assert read(path, labels={"yes": 1, "no": 0}).labels == ("no", "yes")


def test_a_table_of_numbers_a_series_and_an_image(tmp_path: Path) -> None:
    table = read(write_csv(tmp_path / "t.csv", [{"age": "3.5", "weight": "7", "name": "x", "target": "1"}]))
    assert table.columns == ("age", "weight")
    assert (table.modality, table[0].label) == ("tabular", 1)
    assert table[0].inputs["row"].tolist() == [3.5, 7.0]
    assert any("skipped: name" in note for note in rendered(table.notes))
    series = read(write_jsonl(tmp_path / "s.jsonl", [{"series": [[1, 2], [3, 4], [5, 6]], "rationale": [[0, 2]]}]))
    assert (series.modality, series[0].inputs["series"].shape, series[0].rationale) == ("series", (3, 2), ((0, 2),))
    image = read(write_parquet(tmp_path / "i.parquet", [{"image": [[0.0, 1.0], [0.5, 0.25]], "label": 3}]))
    assert (image.modality, image[0].inputs["image"].shape, image[0].label) == ("image", (2, 2), 3)
    assert not image[0].inputs["image"].flags.writeable
    assert read(write_csv(tmp_path / "one.csv", [{"series": "[1, 2, 3]"}]))[0].inputs["series"].shape == (3, 1)


def test_a_big_file_is_sampled_by_label_and_says_so(tmp_path: Path) -> None:
    rows = [{"text": f"sentence number {i}", "label": int(i % 5 == 0)} for i in range(8530)]
    data = read(write_csv(tmp_path / "big.csv", rows), limit=200)
    assert len(data) == 200
    assert Counter(e.label for e in data) == {0: 160, 1: 40}
    assert rendered(data.notes)[-1] == "200 of 8,530, stratified by label, seed 0"
    random.Random(0).shuffle(rows)
    again = read(write_csv(tmp_path / "shuffled.csv", rows), limit=200)
    assert again.fingerprint == data.fingerprint, "the order of the rows must not matter"
    other = read(tmp_path / "big.csv", limit=200, seed=1)
    assert other.fingerprint != data.fingerprint
    assert len(read(tmp_path / "big.csv", limit=None)) == 8530
    unlabelled = read(tmp_path / "big.csv", label_column="", limit=10)
    assert rendered(unlabelled.notes)[-1] == "10 of 8,530, at random (no labels), seed 0"
    numbers = write_csv(tmp_path / "n.csv", [{"text": f"t {i}", "label": i / 7} for i in range(100)])
    assert "at random (labels have more than 50 values)" in rendered(read(numbers, limit=10).notes)[-1]


def test_whole_groups_on_request(tmp_path: Path) -> None:
    rows = [{"text": f"sentence number {i}", "label": i % 2, "patient": f"p{i // 7}"} for i in range(700)]
    data = read(write_csv(tmp_path / "d.csv", rows), limit=30, whole_groups=True)
    assert set(Counter(e.group for e in data).values()) == {7}
    assert len(data) == 28
    assert rendered(data.notes)[-1] == "28 of 700, whole groups, seed 0"


def test_a_file_is_split_by_its_column_or_by_hash(tmp_path: Path) -> None:
    rows = [{"text": f"text {i}", "split": ("train", "validation", "test")[i % 3]} for i in range(9)]
    path = write_csv(tmp_path / "d.csv", rows)
    assert [e.inputs["text"] for e in read(path, split="dev")] == ["text 1", "text 4", "text 7"]
    assert len(read(path)) == 9
    rows = [{"text": f"text {i}", "patient": f"p{i // 3}"} for i in range(900)]
    path = write_csv(tmp_path / "h.csv", rows)
    parts = [{e.group for e in read(path, split=s, limit=None)} for s in ("train", "dev", "test")]
    assert sum(map(len, parts)) == 300, "no group is in two splits"
    assert 210 < len(parts[0]) < 270
    assert any("by a hash of the group" in note for note in rendered(read(path, split="test").notes))
    few = write_csv(tmp_path / "few.csv", [{"text": f"text {i}", "label": "abc"[i % 3]} for i in range(20)])
    assert {read(few, split=s).labels for s in ("train", "dev", "test")} == {("a", "b", "c")}


def test_repeated_texts_keep_different_ids_and_are_counted(tmp_path: Path) -> None:
    data = read(write_csv(tmp_path / "d.csv", [{"text": "same"}, {"text": "same"}, {"text": "other"}]))
    assert len({e.id for e in data}) == 3
    assert any(note.startswith("1 row repeats an earlier input") for note in rendered(data.notes))


def test_tokens_are_joined_and_tags_kept(tmp_path: Path) -> None:
    data = read(write_jsonl(tmp_path / "ner.jsonl", [{"tokens": ["Anna", "lives", "here"], "ner_tags": [1, 0, 0]}]))
    assert data[0].inputs == {"text": "Anna lives here"}
    assert data[0].label == [1, 0, 0]


def test_a_long_file_needs_memory_for_the_sample_only(tmp_path: Path) -> None:
    """What is held is the sample, and a number per line that tells repeated rows."""
    path = tmp_path / "big.jsonl"
    filling = "word " * 100
    with path.open("w") as file:
        for i in range(20_000):
            file.write(f'{{"text": "{filling} {i}", "label": {i % 2}}}\n')
    tracemalloc.start()
    try:
        data = read(path, limit=200)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(data) == 200
    assert peak < path.stat().st_size / 2


def test_the_fingerprint_follows_the_content() -> None:
    from regard.datasets.examples import Examples
    from regard.records import Example

    def print_of(**changes: Any) -> str:
        facts: dict[str, Any] = {"id": "a", "inputs": {"image": np.zeros((2, 8))}, "label": 1, **changes}
        return Examples("d", (Example(**facts),)).fingerprint

    other = [
        {"id": "b"},
        {"label": 0},
        {"inputs": {"image": np.zeros((4, 4))}},
        {"inputs": {"image": np.ones((2, 8))}},
        {"rationale": ((0.0, 1.0),)},
        {"group": "g"},
        {"slices": {"s": "t"}},
    ]
    prints = [print_of(), *(print_of(**change) for change in other)]
    assert len(set(prints)) == len(prints)
    assert print_of() == prints[0]
