"""Tables of other libraries as pandas frames: those that have the Arrow interface, such as polars, pyarrow, duckdb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import InputError
from .extras import need


def to_pandas(data: object, field: str = "data") -> Any:
    """Return a table of any library as a DataFrame, a mapping with its tables as frames, anything else unchanged.

    A table has the Arrow PyCapsule interface (`__arrow_c_stream__`). The times of an index that pandas wrote without a
    name become the column `time`.

    Parameters
    ----------
    data : object
        Table, mapping of tables, or anything else.
    field : str, optional
        Name of the data in errors (default: "data").

    Returns
    -------
    DataFrame, Series, dict or object
        The frame, a Series for a single column.

    Raises
    ------
    InputError
        For a table that is not computed yet.
    MissingPackage
        For a table of another library without pyarrow.
    """
    import pandas as pd

    if isinstance(data, Mapping):
        made = {name: to_pandas(part, field) for name, part in data.items()}
        # A mapping of a class of its own, such as a History, stays one.
        return data if not isinstance(data, dict) and all(made[name] is data[name] for name in made) else made
    if isinstance(data, pd.DataFrame | pd.Series | pd.Index):
        return data
    if not hasattr(data, "__arrow_c_stream__"):
        if hasattr(type(data), "collect") and hasattr(type(data), "columns"):
            text = f"{field} is a {type(data).__name__}, which is not computed yet. Pass {field}.collect()"
            raise InputError(text, field=field, rule="computed")
        return data
    need("pyarrow")
    import pyarrow as pa

    try:
        frame = pa.table(data).to_pandas()
    except (pa.ArrowException, TypeError, ValueError):  # a single column, such as a Series of polars
        return pd.Series(pa.chunked_array(data).to_pandas())
    if "__index_level_0__" in frame and "time" not in frame:
        frame = frame.rename(columns={"__index_level_0__": "time"})
    return frame
