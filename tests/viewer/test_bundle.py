"""The committed bundle: small, harmless, made from this source, and able to draw without a browser."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from sample_packs import SAMPLES, given

from regard.present.pack.viewer_block import viewer_words

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "src" / "regard" / "present" / "pack" / "static"
VIEWER = ROOT / "viewer"


@pytest.mark.parametrize("name", ["viewer.js", "viewer_svg.js"])
def test_a_bundle_is_small_and_names_no_other_place(name: str) -> None:
    text = (STATIC / name).read_text("utf-8")
    assert len(gzip.compress(text.encode())) < 120_000
    assert not re.search(r"</script|<!--", text, re.I)
    assert set(re.findall(r"https?://[\w./-]+", text)) <= {
        "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML",
        "http://www.w3.org/1998/Math/",
    }  # fmt: skip
    assert not re.search(r"\beval\(|new Function|document\.write|insertAdjacentHTML", text)


@pytest.mark.parametrize("name", ["viewer.js", "viewer_svg.js"])
def test_a_bundle_carries_the_notices_of_what_it_contains(name: str) -> None:
    """The MIT licence wants its notice in every copy, and each report holds a copy of the bundle."""
    text = (STATIC / name).read_text("utf-8")
    notice = text[: text.index("*/")]
    locked = json.loads((VIEWER / "package-lock.json").read_text("utf-8"))["packages"]
    for package in ("preact", "@preact/signals", "@preact/signals-core"):
        entry = locked[f"node_modules/{package}"]
        assert f"{package} {entry['version']} ({entry['license']}): Copyright" in notice
    assert "The above copyright notice and this permission notice shall be included in all" in notice


def test_text_becomes_markup_nowhere() -> None:
    """Names reach the page through text nodes and canvases; only Preact itself knows the word."""
    for path in (VIEWER / "src").rglob("*.ts*"):
        assert not re.search(r"innerHTML|outerHTML|dangerously|insertAdjacent|\beval\b", path.read_text("utf-8")), path


def test_types_are_those_of_the_records() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "viewer_types.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_bundle_is_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    """From the packages of the lock file, where they are (`make test-viewer` fetches them)."""
    there = VIEWER / "node_modules" / ".package-lock.json"
    node = shutil.which("node")
    wanted = json.loads((VIEWER / "package-lock.json").read_text("utf-8"))["packages"]
    if not node or not there.exists():
        if os.environ.get("CI") == "true" and os.environ.get("REGARD_VIEWER_BUILD") == "required":
            pytest.fail("no node or no packages, and CI=true: run `make test-viewer`")
        pytest.skip("no node_modules here: `make test-viewer` rebuilds the bundle")
    found = json.loads(there.read_text("utf-8"))["packages"]
    for name in ("preact", "@preact/signals", "esbuild"):
        assert found[f"node_modules/{name}"]["version"] == wanted[f"node_modules/{name}"]["version"], "npm ci first"
    subprocess.run([node, str(VIEWER / "build.mjs"), "--out", str(tmp_path)], check=True, cwd=VIEWER)
    for name in ("viewer.js", "viewer_svg.js"):
        assert (tmp_path / name).read_bytes() == (STATIC / name).read_bytes(), f"{name} is stale: node viewer/build.mjs"


@pytest.mark.parametrize("name", SAMPLES)
def test_every_view_is_drawn_without_a_browser(name: str) -> None:
    pytest.importorskip("quickjs", reason="needs regard[figures]")
    from regard.live.figures import svg, table, views

    make, wanted = SAMPLES[name]
    offered = views(make())
    assert set(wanted) <= set(offered)
    for view in wanted[:1] if name == "long" else wanted:  # the engine is slow, and one long picture is enough
        drawn = svg(make(), view, width=800, dark=len(view) % 2 == 0)
        root = ET.fromstring(drawn)
        tags = {element.tag.rsplit("}")[-1] for element in root.iter()}
        assert "text" in tags, view
        assert tags & {"path", "rect"}, view
        assert not tags & {"script", "image", "foreignObject", "a"}, view
        assert len(drawn) < 3_000_000, view
        found = table(make(), view)
        assert found is not None, view
        assert found["rows"], view


def test_a_picture_without_a_browser_escapes_everything() -> None:
    pytest.importorskip("quickjs", reason="needs regard[figures]")
    from regard.live.figures import svg

    evil = "</text><script>alert(1)</script>"
    drawn = svg(given([evil, "b", "\x00"]), "heat_map")
    assert "<script" not in drawn
    assert any(evil[:10] in (element.text or "") for element in ET.fromstring(drawn).iter())


def test_every_word_of_the_catalogue_is_used() -> None:
    """The types of the front end already refuse a key that the catalogue does not have."""
    sources = [path for path in (VIEWER / "src").rglob("*.ts*") if not path.name.endswith(".generated.ts")]
    quoted = set(re.findall(r'"(\w+)"', "".join(path.read_text("utf-8") for path in sources)))
    families = ("edit_", "kind_", "stage_", "unit_")
    assert [key for key in viewer_words("en") if key not in quoted and not key.startswith(families)] == []


def test_figure_of_a_picture_names_the_answer() -> None:
    from regard.live import figures

    pytest.importorskip("quickjs", reason="NOT RUN: no quickjs-ng")
    pack = SAMPLES["digits"][0]()
    example = pack.manifest.examples[0]
    assert f" → {example.predicted} (" in figures.svg(pack, "image_overlay")
