"""Tables on paper."""

from __future__ import annotations

from regard.present.report.markup import PAPER_COLUMNS, laid_out, table

HEAD = ["method", *(f"metric {i}" for i in range(2 * PAPER_COLUMNS + 1))]
ROWS = [[name, *(f"{name}{i}" for i in range(2 * PAPER_COLUMNS + 1))] for name in ("a", "b")]


def test_a_wide_table_is_several_on_paper_and_one_on_a_screen() -> None:
    assert table(HEAD, ROWS, numeric=True).count("<table") == 1
    with laid_out("pages"):
        few = table(HEAD, ROWS, numeric=True)
    assert few.count("<table") == 1
    assert f"a{PAPER_COLUMNS - 1}<" in few
    assert f"a{PAPER_COLUMNS}<" not in few
    assert f"{PAPER_COLUMNS + 1} further columns" in few
    with laid_out("appendix"):
        page = table(HEAD, ROWS, caption="n = 9", numeric=True)
        assert table(HEAD[:4], [row[:4] for row in ROWS], numeric=True).count("<table") == 1
    assert page.count("<table") == 3
    assert page.count("n = 9</figcaption>") == 1
    for row in ROWS:
        assert page.count(f">{row[0]}<") == 3, "every part names its rows"
        assert all(page.count(f">{cell}<") == 1 for cell in row[1:])
