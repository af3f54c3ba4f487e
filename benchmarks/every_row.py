"""A pass over every row of a large file: does the memory of the driver stay flat, and is every row counted once?

Writes Parquet and jsonl files of 10,000 and of ROWS rows, audits a stub model on them with `--every-row predictions`,
each in its own process, and compares the peak memory of the processes. Bars: at most 1.25 times the memory for 100
times the rows; the numbers of both formats and of one and two workers are equal to the last bit.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.lines import Line
from regard.records import Spec
from regard.testing.toy import ToyModel

ROWS = int(os.environ.get("REGARD_BENCH_ROWS", "1000000"))
FEW = 10_000
WORDS = ("good", "bad", "dull", "great", "film", "plot", "very", "not", "fine", "weak", "long", "sharp")


class Stub(ToyModel):
    """A bag of words with answers within microseconds; workers open it by name."""

    spec = Spec("function", "benchmarks.every_row:stub")


def stub() -> Stub:
    return Stub()


def rows(count: int) -> Iterator[dict[str, str]]:
    """Texts of four words with a serial number, so that all differ; labels by the first word."""
    for i in range(count):
        words = [WORDS[(i // 12**k) % 12] for k in range(4)]
        yield {"text": f"{' '.join(words)} n{i}", "label": "positive" if i % 3 else "negative", "site": f"s{i % 7}"}


def write(folder: Path, count: int, suffix: str) -> Path:
    path = folder / f"rows-{count}.{suffix}"
    if suffix == "jsonl":
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows(count))
        return path
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer, batch = None, list[dict[str, str]]()
    for row in rows(count):
        batch.append(row)
        if len(batch) == 50_000:
            writer = writer or pq.ParquetWriter(path, pa.Table.from_pylist(batch[:1]).schema)
            writer.write_table(pa.Table.from_pylist(batch))
            batch = []
    writer = writer or pq.ParquetWriter(path, pa.Table.from_pylist(batch[:1]).schema)
    if batch:
        writer.write_table(pa.Table.from_pylist(batch))
    writer.close()
    return path


def measure(path: str, out: str, engine: str) -> None:
    """Audit in its own process; print peak memory, seconds and the numbers."""
    from regard.audits.audit import audit
    from regard.audits.every_row import EveryRow

    started = time.monotonic()
    audit(
        stub(),
        path,
        out=out,
        engine=engine,
        limit=200,
        budget="none",
        explainers=["random"],
        metrics=["entropy"],
        slices=["site"],
        keep=0,
        every_row="predictions",
    )
    result = EveryRow.read(out)
    assert result is not None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak_mb": peak, "seconds": time.monotonic() - started, "result": result.to_json()}))


def measured(path: Path, out: Path, engine: str = "serial") -> dict[str, object]:
    words = [sys.executable, "-c", "import sys; from benchmarks.every_row import measure; measure(*sys.argv[1:])"]
    done = subprocess.run([*words, str(path), str(out), engine], capture_output=True, text=True, check=True)
    answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return answer


def run() -> list[Line]:
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        folder, results = Path(temporary), {}
        for suffix in ("parquet", "jsonl"):
            small = measured(write(folder, FEW, suffix), folder / f"{suffix}-few")
            large = measured(write(folder, ROWS, suffix), folder / f"{suffix}-many")
            results[suffix] = large["result"]
            counted = large["result"]["rows"]  # type: ignore[index]
            assert counted == ROWS, f"{counted} rows of {ROWS}"
            detail = {
                "MB": float(large["peak_mb"]),  # type: ignore[arg-type]
                "MB of 10,000": float(small["peak_mb"]),  # type: ignore[arg-type]
                "rows": float(ROWS),
                "seconds": float(large["seconds"]),  # type: ignore[arg-type]
            }
            what = f"peak memory of {ROWS:,} rows against {FEW:,}, {suffix}"
            lines.append(Line(what, detail["MB"] / detail["MB of 10,000"], 1.25, "<=", detail))
        two = measured(folder / f"rows-{FEW}.jsonl", folder / "two", "processes:workers=2")
        one = measured(folder / f"rows-{FEW}.jsonl", folder / "one")
        equal = results["parquet"] == results["jsonl"] and two["result"] == one["result"]
        lines.append(Line("numbers equal for both formats, and for one and two workers", float(equal), 1.0, ">="))
    return lines


if __name__ == "__main__":
    for line in run():
        print(line.shown())
