"""Check for a font that can draw Chinese text."""

from __future__ import annotations

import shutil
import subprocess
import sys

CJK_PACKAGE = "fonts-noto-cjk"
"""Font package of Debian and Ubuntu; Fedora calls it google-noto-sans-cjk-fonts."""
SECONDS = 10


def cjk_font() -> bool | None:
    """Return whether a font with Chinese characters is installed; None if this machine cannot tell."""
    if sys.platform in ("darwin", "win32"):  # these come with one
        return True
    program = shutil.which("fc-list")
    if program is None:
        return None
    try:
        listing = subprocess.run([program, ":lang=zh", "family"], capture_output=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return bool(listing.stdout.strip())
