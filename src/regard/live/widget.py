"""The notebook widget (anywidget): the same viewer and requests, carried by kernel messages.

The kernel answers between cells; a job goes on in its own thread meanwhile.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from regard.errors import EnvironmentProblem, InputError, RegardError, phrase
from regard.live.jobs import error_json
from regard.live.session import Session
from regard.present.pack.viewer_block import viewer_script

EXTRA = "pip install 'regard[notebook]'"
CARRIED = 4 << 20
"""Maximum bytes of the first pack that a widget embeds, so that it can be drawn without a kernel."""


def widget(session: Session, settings: Mapping[str, Any]) -> Any:
    """Return an anywidget that shows a session; its trait `selection` holds the user's selection."""
    return _class()(session, dict(settings))


def answered(session: Session, message: Any) -> tuple[dict[str, Any], list[bytes]]:
    """Answer one front-end message; return the answer and its binary buffers."""
    number = message.get("id") if isinstance(message, dict) else None
    try:
        if not isinstance(message, dict) or not isinstance(message.get("body"), dict):
            raise InputError(phrase("errors.live.message"), expected="{id, op, body}", got=type(message).__name__)
        op, body = str(message.get("op")), message["body"]
        if op == "chunk":
            return {"id": number, "answer": None}, [session.chunk(str(body.get("pack")), str(body.get("name")))]
        # a kernel must not wait: the page asks again
        return {"id": number, "answer": session.call(op, {k: v for k, v in body.items() if k != "after"})}, []
    except RegardError as error:
        return {"id": number, "error": error_json(error)}, []
    except Exception as error:  # the view says what happened; the notebook goes on
        return {"id": number, "error": error_json(error)}, []


@functools.cache
def _class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.live.widget"), expected="anywidget", got=phrase("errors.common.none"), remedy=EXTRA
        ) from error

    class RegardWidget(anywidget.AnyWidget):
        _esm = viewer_script()
        hello = traitlets.Dict().tag(sync=True)
        settings = traitlets.Dict().tag(sync=True)
        selection = traitlets.Dict().tag(sync=True)
        manifest = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
        chunks = traitlets.Dict().tag(sync=True)

        def __init__(self, session: Session, settings: dict[str, Any]) -> None:
            hello = session.call("hello", {})
            carried: dict[str, Any] = {}
            if session.first is not None:
                pack = session.pack()
                if pack.size <= CARRIED:
                    carried = {"manifest": pack.manifest_json(), "chunks": dict(pack.chunks)}
            super().__init__(hello=hello, settings=settings, **carried)
            self._session = session
            self.on_msg(self._heard)

        def _heard(self, _: Any, message: Any, buffers: Any) -> None:
            answer, binary = answered(self._session, message)
            self.send(answer, binary)

    return RegardWidget
