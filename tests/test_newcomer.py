"""What a newcomer does: the README's commands, from a clone, and a plain install."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=1500, **options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A temporary clone (a copy of the tracked files, so that uncommitted work is tested too)."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("needs git")
    target = tmp_path_factory.mktemp("clone") / "regard"
    tracked = run(["git", "ls-files", "-z"], cwd=ROOT).stdout.split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


@pytest.fixture(scope="session")
def demo(clone: Path) -> tuple[Path, str]:
    """`make demo` in the clone; the installed packages of this environment are used, its own code is not."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = run(
        ["make", "demo", f"VENV={sys.prefix}", "THREADS=1"],
        cwd=clone,
        env={**environment, "COLUMNS": "160", "REGARD_SETUP": "skip"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return clone / "demo-run", done.stdout


@pytest.mark.slow
def test_demo_prints_a_verdict_and_writes_a_report(demo: tuple[Path, str]) -> None:
    folder, printed = demo
    assert len(printed.splitlines()) <= 40
    assert "regard explain bilstm" in printed or "regard audit bilstm" in printed, "the next command"
    page = (folder / "report.html").read_text("utf-8")
    for method in ("attention", "integrated_gradients", "leave_one_out", "random"):
        assert method in page
    assert "Content-Security-Policy" in page
    assert not re.search(r"""(?:src|href)=["']?https?://""", page), "the report must not need the network"


@pytest.mark.slow
def test_demo_report_opens_in_a_browser(demo: tuple[Path, str], browser: str, tmp_path: Path) -> None:
    folder, _ = demo
    done = run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            f"--user-data-dir={tmp_path}",
            "--virtual-time-budget=4000",
            "--dump-dom",
            f"file://{folder / 'report.html'}",
        ]
    )
    assert "<main" in done.stdout
    assert "leave_one_out" in done.stdout
    assert "Refused to" not in done.stderr, "the page broke its own content security policy"


@pytest.mark.slow
def test_plain_install_gives_a_command(tmp_path: Path) -> None:
    """`pip install .` into a fresh environment gives `regard` and `import regard`."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    site = next((home / "lib").glob("python*/site-packages"))
    outer = [p for p in sys.path if p.endswith("site-packages")]
    (site / "outer.pth").write_text("\n".join(outer), "utf-8")
    done = run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--ignore-installed",
            "--prefix",
            str(home),
            str(ROOT),
        ]
    )
    assert done.returncode == 0, done.stderr
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    said = run([str(home / "bin" / "regard"), "list", "explainer", "--json"], env=environment, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "rollout" in json.dumps(json.loads(said.stdout))
    where = run(
        [str(home / "bin" / "python"), "-c", "import regard; print(regard.__file__)"], env=environment, cwd=tmp_path
    )
    assert str(home) in where.stdout
