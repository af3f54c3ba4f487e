"""The gauge of the landing page, drawn from the stored result of `make demo`.

python docs/site_gauge.py RUN   store the result of a run in demo_result.json and redraw pictures/gauge.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from regard.present.overview import Gauge
from regard.present.report.gauge import HEIGHT, WIDTH, gauge_drawing, gauge_words

HERE = Path(__file__).parent
RESULT, PICTURE = HERE / "demo_result.json", HERE / "pictures" / "gauge.svg"
STYLE = """text{font:14px system-ui,sans-serif;fill:#1b1f24}.strong{font-weight:700}
.end{text-anchor:end}.mid{text-anchor:middle}.axis{stroke:#555f6b;stroke-width:2}
.threshold{stroke:#1b1f24;stroke-width:2;stroke-dasharray:4 3}.span{fill:#0b5cad;opacity:.3}.here{fill:#0b5cad}
@media(prefers-color-scheme:dark){text{fill:#e6e8eb}.axis{stroke:#9aa5b1}.threshold{stroke:#e6e8eb}
.span,.here{fill:#7db7f0}}"""


def stored_gauge() -> Gauge:
    """Return the gauge of the stored result."""
    return Gauge(**json.loads(RESULT.read_text("utf-8"))["gauge"])


def gauge_picture() -> str:
    """Return the gauge as its own SVG file, for light and dark pages."""
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
    return (
        str(gauge_drawing(stored_gauge())).replace("<svg ", opening, 1).replace(">", f"><style>{STYLE}</style>", 1)
        + "\n"
    )


def store(run: Path) -> None:
    """Store the first page of a run and draw its gauge."""
    from regard.present.overview import overview_json
    from regard.present.run_reader import Material
    from regard.store.run import Run

    page: Any = overview_json(Material(Run(run)))
    result = {"source": f"run {run.name}", **{key: page[key] for key in ("reading", "show", "ties", "gauge")}}
    RESULT.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    PICTURE.write_text(gauge_picture(), "utf-8")
    print(gauge_words(stored_gauge()))


if __name__ == "__main__":
    store(Path(sys.argv[1]))
