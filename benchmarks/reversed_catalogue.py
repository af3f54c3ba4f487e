"""`python -m benchmarks.reversed_catalogue [PATH ...]`: the suite with every English message reversed.

A test that is not about wording passes all the same, or the code reads its own prose somewhere.
"""

from __future__ import annotations

import subprocess
import sys


def main() -> int:
    command = [sys.executable, "-m", "pytest", "--reversed-catalogue", "-m", "not wording", *sys.argv[1:]]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
