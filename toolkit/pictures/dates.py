"""Dates along an axis of a static page, with a note of the time that the data covers."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import dates

untyped: Any = dates


class DatesOfData(dates.ConciseDateFormatter):
    """Short dates. The note below the axis has the first and last time of the data, not the last month drawn."""

    def get_offset(self) -> str:
        """Return the note."""
        text: str = super().get_offset()  # type: ignore[no-untyped-call]
        low, high = self._locator.axis.get_data_interval()
        if not (text and np.isfinite([low, high]).all()):
            return text
        # What ends at midnight of the first belongs to the month before.
        edges = untyped.num2date(low), untyped.num2date(max(high - 1e-5, low))
        form = "%b %Y" if high - low > 32 else "%d %b %Y"
        return " – ".join(dict.fromkeys(f"{each:{form}}".lstrip("0") for each in edges))
