"""`show`: display a capture, a run or a model in a notebook, or save it as a file.

In Jupyter and marimo it is a widget, with the same page beside it in a sandboxed frame. The frame stands alone if no
kernel will answer (an exported or executed notebook, a page without network).
"""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.errors import InputError, phrase
from regard.live.session import METHODS, Session
from regard.models.open.from_arrays import GivenCapture
from regard.present.answer_text import shown_answer
from regard.present.messages.messages import say, speaking
from regard.present.pack.build import BUDGET
from regard.present.pack.pack import pack_of_capture
from regard.present.pack.records import Pack
from regard.present.pack.viewer_block import viewer_page
from regard.present.report.markup import tag
from regard.protocols import Capture, Model
from regard.records import Example, Json
from regard.store.run import Run

BESIDE = 8 << 20
"""Maximum bytes of chunks in the frame beside a widget, since every notebook stores it."""
HEIGHT = 720


@dataclass(eq=False)
class View:
    """A view that displays itself in a notebook cell; `save` writes a file, `open` opens a browser.

    `html` is the self-contained page, `widget` the live one (its trait `selection` follows the user's selection).
    """

    session: Session
    view: str = ""
    height: int = HEIGHT
    static: bool = False
    state: Mapping[str, Json] = field(default_factory=dict)
    theme: str = "auto"

    def save(
        self,
        path: str | Path,
        *,
        view: str = "",
        dark: bool = False,
        width: int = 900,
        state: Mapping[str, Json] | None = None,
    ) -> Path:
        """Write a self-contained .html page, or one view as .svg, .png or .pdf, without a browser."""
        from regard.live.figures import write_figure

        return write_figure(
            self._pack(BUDGET),
            Path(path),
            view or self.view,
            dark=dark or self.theme == "dark",
            width=width,
            lang=self.session.lang,
            state={**self.state, **(state or {})},
        )

    @property
    def html(self) -> str:
        return self._page(BUDGET)

    data = html
    """Page under the attribute name of IPython's HTML."""

    def _page(self, budget: int) -> str:
        return viewer_page(
            self._pack(budget), view=self.view, lang=self.session.lang, theme=self.theme, state=dict(self.state)
        )

    @cached_property
    def widget(self) -> Any:
        from regard.live.widget import widget

        return widget(self.session, {"view": self.view, "theme": self.theme, "state": dict(self.state)})

    def open(self) -> Path:
        """Open the page in the user's browser from a temporary file."""
        import tempfile

        handle, name = tempfile.mkstemp(prefix="regard-", suffix=".html")
        os.close(handle)
        path = self.save(name)
        webbrowser.open(path.as_uri())
        return path

    def frame(self, budget: int = BUDGET) -> str:
        """Return the page in an iframe that may only run scripts."""
        style = f"width:100%;height:{self.height}px;border:0;background:transparent"
        return tag(
            "iframe",
            {
                "sandbox": "allow-scripts",
                "title": self.session.pack().manifest.title,
                "style": style,
                "srcdoc": self._page(budget),
            },
            "",
        )

    def _pack(self, budget: int) -> Pack:
        return self.session.packed(budget)

    def __repr__(self) -> str:
        return say("pack.view", title=repr(self.session.pack().manifest.title))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        plain = {"text/plain": repr(self)}
        if self.static or not answers_here():
            return {**plain, "text/html": self.frame()}
        bundle = self.widget._repr_mimebundle_(include=None, exclude=None)
        data, facts = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**(data or {}), **plain, "text/html": self.frame(BESIDE)}, facts

    def _display_(self) -> Any:
        """Display in marimo."""
        if self.static:
            import marimo

            return marimo.Html(self.frame())
        return self.widget


def answers_here() -> bool:
    """Return whether a front end with a live kernel shows this cell (Jupyter, VS Code, Colab; not nbconvert).

    Jupyter's servers tell a kernel the name of its notebook; tools that only execute a notebook do not.
    """
    return bool({"JPY_SESSION_NAME", "VSCODE_PID", "VSCODE_CWD"} & set(os.environ)) or "google.colab" in sys.modules


def show(
    shown: Capture | Run | Model | Pack | str,
    text: str | Example | None = None,
    *,
    view: str = "",
    methods: Sequence[str] = METHODS,
    changed: str | Example | None = None,
    other: Model | str | None = None,
    lang: str = "en",
    static: bool = False,
    height: int = HEIGHT,
    allow_code: bool = False,
) -> View:
    """Show a capture (of `regard.capture`, `from_arrays`, `capture_generation`), a run, or a model with a text.

    changed: another version of the text, other: another model or checkpoint that reads it; both are shown beside it for
    comparison. view: the initial view (`head_view`, `model_view`, `heat_map`, ...). methods: explainers to run, for a
    model. static: work without a kernel, whatever the front end. allow_code: run the code that a run names as its
    model.
    """
    if isinstance(shown, Pack):
        session = Session.of_pack(shown, lang=lang)
    elif isinstance(shown, Run):
        session = Session(run=shown, lang=lang, allow_code=allow_code)
    elif text is not None or isinstance(shown, str):
        if text is None:
            raise InputError(
                "show",
                expected=phrase("errors.live.text_for_model_read"),
                got=phrase("errors.common.none"),
                remedy=phrase("errors.live.show_model_text"),
            )
        from regard.models.open.load import load

        session = Session(load(shown), others=() if other is None else (load(other),), methods=methods, lang=lang)
        session.show(_example(text), changed=None if changed is None else _example(changed))
    else:
        with speaking(lang):
            pack = captured_pack(shown)  # type: ignore[arg-type]
        session = Session.of_pack(pack, lang=lang)
    return View(session, view, height, static)


def _example(text: str | Example) -> Example:
    return text if isinstance(text, Example) else Example("text", {"text": text})


def captured_pack(capture: Capture) -> Pack:
    """Build the pack of a capture with its own model, labels and predictions."""
    if isinstance(capture, GivenCapture):
        return pack_of_capture(capture)
    from regard.models.capture_generation import Generated
    from regard.models.captured import Captured

    if isinstance(capture, Captured):
        answers: list[Json] = [shown_answer(name, capture.task) for name in capture.names]
        return pack_of_capture(
            capture,
            model=capture.model,
            labels=capture.labels,
            predicted=answers or list(capture.targets) or None,
            written=capture.written if capture.task == "sequence_to_sequence" else None,
        )
    return pack_of_capture(capture, made=capture.made if isinstance(capture, Generated) else None)
