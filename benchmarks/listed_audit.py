"""`python -m benchmarks.listed_audit ARGUMENTS`: `regard audit` without the default methods that f476f33 did not have.

With it, both sides of `benchmarks.audit_cost` run the same list of methods.
"""

from __future__ import annotations

import sys

from regard.audits import default_methods
from regard.registry import names

NEW = {"explainer": {"lrp"}, "metric": {"polarity_violation", "removal_gap"}}
"""Methods of standard audits that are younger than f476f33."""
REFERENCES = "integrated_gradients,gradient,leave_one_out"
"""The rankings that f476f33 compared attention with."""


def main() -> None:
    from regard.cli.root import root

    def old_names(kind: str) -> list[str]:
        return [name for name in names(kind) if name not in NEW.get(kind, ())]

    setattr(default_methods, "names", old_names)  # noqa: B010 - a name that the module does not export
    root.main(args=["audit", *sys.argv[1:], "--references", REFERENCES], prog_name="regard")


if __name__ == "__main__":
    main()
