"""The page about the published tables shows every published cell, from the stored results, disagreements too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.replicate import published

ROOT = Path(__file__).resolve().parents[1]
RECORD = json.loads((ROOT / "benchmarks" / "results" / "replicate.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "replication.md").read_text("utf-8")


def test_the_page_shows_what_follows_from_the_stored_cells() -> None:
    table = published.table_of(RECORD)
    cells, orders = published.cells_beside(table), published.orders_beside(table)
    assert [c["per_seed"] for c in RECORD["published_cells"]] == [c["per_seed"] for c in cells]
    assert RECORD["published_orders"] == orders
    for line in published.as_markdown(cells, orders):
        assert line in PAGE.splitlines()


def test_every_published_cell_of_a_shared_encoder_is_listed() -> None:
    listed = {(c["encoder"], c["attention"], c["value"]) for c in RECORD["published_cells"]}
    shared = {(r["encoder"], r["attention"]) for r in RECORD["cells"] if r["kind"] == "agreement"} - {
        ("cnn", "additive"), ("cnn", "dot")
    }  # fmt: skip
    assert {pair[:2] for pair in listed} == shared
    for pair in shared:
        known = published.published(*pair)
        assert {(*pair, name) for name, (number, _) in known.items() if number is not None} <= listed


@pytest.mark.parametrize("band", [b for b in RECORD["bands"] if b["published"].startswith(".")])
def test_the_page_and_the_bands_quote_the_same_published_values(band: dict[str, str]) -> None:
    number = float(band["published"].split()[0])
    known = {n for pair in published.RELEASED for n, _ in published.published(*pair).values() if n is not None}
    assert number in known or "recalled" in band["published"] or "cnn" in band["what"]


def test_the_reversed_order_is_named_with_what_was_checked() -> None:
    (order,) = [o for o in RECORD["published_orders"] if o["seeds_in_the_published_order"] < o["seeds"]]
    assert (order["encoder"], order["attention"]) == ("average", "additive")
    assert order["seeds_in_the_published_order"] == 0
    assert order["published"] < 0 < min(order["agreement"].values())
    assert min(order["pretrained"].values()) > 0
    assert "## The largest disagreements, and what was checked" in PAGE
