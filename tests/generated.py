"""`python -m tests.generated` writes again all that is made from the source: methods, pages, the frozen interface.

Read the difference before you commit it.
"""

from __future__ import annotations

import subprocess
import sys

MODULES = ("tests.methods", "tests.surface", "tests.wire_tables", "tests.frozen", "tests.calls")
"""What writes one thing each, in the order in which they need each other."""


def main() -> None:
    """Run each in a process of its own, because they import what the one before wrote."""
    for module in MODULES:
        subprocess.run([sys.executable, "-m", module], check=True)


if __name__ == "__main__":
    main()
