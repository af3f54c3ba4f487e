"""regard: what does an attention model look at, may I believe what I see, and does it hold?"""

from __future__ import annotations

__version__ = "0.1.0"
