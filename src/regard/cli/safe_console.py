"""A rich console that shows control characters instead of sending them to the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from regard.visible import visible


class SafeConsole(Console):
    """A console for untrusted strings from data, models or runs.

    Control characters become visible before rich lays out a string, and at the end for strings that arrive by another
    way (a `Text` made elsewhere). Brackets are text: markup in a file name must not become a link.
    """

    def __init__(self, *, stderr: bool = False, width: int | None = None, quiet: bool = False) -> None:
        # bold and dim are escape sequences too, which rich keeps without colours
        colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
        super().__init__(
            stderr=stderr,
            width=width,
            quiet=quiet,
            color_system=colours,
            highlight=False,
            soft_wrap=False,
            markup=False,
        )

    def on_broken_pipe(self) -> None:
        """End the command without a message at a broken pipe: `regard ... | head`."""
        raise BrokenPipeError

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control is None and visible(segment.text) != segment.text:
                yield Segment(visible(segment.text), segment.style)
            else:
                yield segment
