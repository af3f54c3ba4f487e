"""What every test shares: one cache of trained models, one thread, no network, a browser if there is one."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# doctests are collected from every file, but several folders have a conftest.py
collect_ignore_glob = ["conftest.py", "*/conftest.py"]

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("REGARD_CACHE", str(ROOT / ".cache" / "regard"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# some sandboxes announce the tile registers of the processor (AMX) and then refuse their use: bfloat16 would crash
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
# readline tells its child processes, the workers of pytest among them, that the terminal has 80 columns
os.environ.pop("COLUMNS", None)
# a shell that starts the tests in the background makes them, and every command they start, deaf to Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and `nohup` makes them deaf to the end of a terminal
# A busy machine is no defect: examples have no deadline, and slow generation fails no test. The examples are the same
# in every run; `make fuzz` draws new ones.
hypothesis.settings.register_profile(
    "regard",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    print_blob=True,
)
hypothesis.settings.load_profile("regard")
HARDWARE = "hardware: "
"""How the reason of a skip begins that no installation can cure."""
ABOUT_WORDS, COMPARES_WORDS = "wording: marked", "wording: compared a reversed word with the English one"
"""Reasons of skips with --reversed-catalogue."""
BROWSER_PATIENCE = 240_000
"""Milliseconds that a page may take for anything: a safety net below pytest's own, never a measurement."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reversed-catalogue", action="store_true", help="reverse every English message")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --reversed-catalogue, skip the tests that are about words."""
    if config.getoption("--reversed-catalogue"):
        for item in items:
            if item.get_closest_marker("wording"):
                item.add_marker(pytest.mark.skip(reason=ABOUT_WORDS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With --reversed-catalogue, skip a test that compared a reversed word with the English one; all else must pass."""
    report = yield
    if item.config.getoption("--reversed-catalogue") and report.failed and call.excinfo is not None:
        from catalogues import compares_wording

        if compares_wording(call.excinfo, report.longreprtext):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), 0, f"Skipped: {COMPARES_WORDS}")
    return report


@pytest.fixture(autouse=True, scope="session")
def _catalogue(request: pytest.FixtureRequest) -> Iterator[None]:
    """With --reversed-catalogue every English message is reversed: only tests of wording may fail."""
    if not request.config.getoption("--reversed-catalogue"):
        yield
        return
    sys.path.insert(0, str(ROOT / "tests"))
    from catalogues import backwards, catalogue_changed

    with catalogue_changed(backwards):
        yield


@pytest.fixture(autouse=True)
def _modes_of_torch_are_restored() -> Iterator[None]:
    """A test that leaves inference mode on breaks others in its process, wherever they are."""
    yield
    torch = sys.modules.get("torch")
    if torch is not None:
        assert torch.is_grad_enabled(), "gradients are still switched off"
        assert not torch.is_inference_mode_enabled(), "inference mode is still on"


@pytest.fixture(scope="session")
def browser() -> str:
    """Path of a Chromium. Without one the test is listed as NOT RUN, and fails under CI=true."""
    found = os.environ.get("REGARD_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        if os.environ.get("CI") == "true":
            pytest.fail("no browser found, and CI=true: browser tests must run")
        pytest.skip("NOT RUN: no browser")
    return found


@pytest.fixture(scope="session")
def running_browser(browser: str) -> Iterator[Any]:
    """That Chromium, started once: playwright's loop may run only once in a process."""
    from playwright import sync_api

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
    with sync_api.sync_playwright() as play:
        native = play.chromium.launch(executable_path=browser, args=flags, timeout=BROWSER_PATIENCE)
        sync_api.expect.set_options(timeout=BROWSER_PATIENCE)
        yield native
        native.close()


def pytest_collection_finish() -> None:
    """Keep thousands of collected tests out of every garbage collection: a tenth of the suite's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """The very last lines list every skipped test: those that this machine cannot run, and those that lack a package;
    with CI=true the latter are a failure."""
    done = yield
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = [r for r in terminal.stats.get("skipped", []) if "wording: " not in str(r.longrepr)] if terminal else []
    for beyond in (True, False):
        reports = [r for r in skipped if (HARDWARE in str(r.longrepr)) == beyond]
        if not reports:
            continue
        names = ", ".join(sorted({r.nodeid for r in reports}))
        whys = sorted({str(r.longrepr[2] if isinstance(r.longrepr, tuple) else r.longrepr) for r in reports})
        why = "; ".join(w.partition("NOT RUN: ")[2] or w.removeprefix("Skipped: ") for w in whys)
        failed = not beyond and os.environ.get("CI") == "true"
        terminal.write_line(f"NOT RUN{' (a failure, because CI=true)' * failed}, {len(reports)} tests ({why}): {names}")
        if failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    return done
