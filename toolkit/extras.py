"""Packages that only some users need: each belongs to an extra, and the error for a missing one names that."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import MissingPackage

EXTRAS = {
    "matplotlib": ("notebook", "plots"),
    "ipywidgets": ("notebook", "widgets"),
    "anywidget": ("notebook", "widgets"),
    "plotly": ("notebook", "interactive reports"),
    "optuna": ("optimise", 'optimise(method="bayes")'),
    "psutil": ("class", "the limits of graded notebooks"),
    "ipykernel": ("class", "the kernel of graded notebooks"),
    "pyarrow": (
        "data",
        "Parquet files (recordings, the candle cache) and frames of other libraries",
    ),
    "openpyxl": ("excel", "Excel files"),
    "keyring": ("keyring", "keys in the system's keyring"),
    "jupyterlab": ("lab", "toolkit lab"),
    "dask": ("cluster", "sweeps on a cluster"),
}
"""Package → its extra, and what needs it."""


def need(*packages: str) -> None:
    """Check that packages are installed. Raises MissingPackage, which says what needs them and how to install them."""
    for package in packages:
        if find_spec(package) is None:
            extra, use = EXTRAS[package]
            raise MissingPackage(
                f'{package} is not installed, and is needed for {use}: pip install "toolkit[{extra}]"', name=package
            )
