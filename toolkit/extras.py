"""Optional packages: each belongs to an extra. Every install command that the toolkit prints is made here.

So is what loads names on first use, as many of them need such a package, or one that takes long to load.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .errors import MissingPackage

DISTRIBUTION = "afx-toolkit"
"""Name of the distribution in package indexes. The import name and the command are `toolkit`."""

EXTRAS = {
    "matplotlib": ("notebook", "plots"),
    "ipywidgets": ("notebook", "widgets"),
    "anywidget": ("notebook", "widgets"),
    "plotly": ("notebook", "interactive reports"),
    "optuna": ("optimise", 'optimise(method="bayes")'),
    "psutil": ("class", "the limits of graded notebooks"),
    "ipykernel": ("class", "the kernel of graded notebooks"),
    "pyarrow": ("data", "Parquet files (recordings, the candle cache) and frames of other libraries"),
    "openpyxl": ("excel", "Excel files"),
    "keyring": ("keyring", "keys in the system's keyring"),
    "jupyterlab": ("lab", "toolkit lab and toolkit export"),
    "gymnasium": ("gym", "toolkit.gym, environments for reinforcement learning"),
    "pettingzoo": ("gym", "toolkit.gym.TradersEnv"),
    "ccxt": ("ccxt", 'markets of other exchanges, connect(follow="binance:…")'),
    "dask": ("cluster", "sweeps on a cluster"),
    "mcp": ("mcp", "toolkit mcp"),
    "apprise": ("notify", "messages of runs to Telegram, Slack, ntfy and others"),
    "socksio": ("socks", "queries through a SOCKS proxy"),
    "python-socks": ("socks", "the feed through a SOCKS proxy"),
}
"""Package → its extra, and what needs it."""


def install_line(*extras: str) -> str:
    """Return the command that installs the toolkit with some extras.

    Brackets are a pattern in zsh and an operator in PowerShell, so a name with extras is quoted.

    Parameters
    ----------
    *extras : str
        Names of extras, in any order.

    Examples
    --------
    >>> install_line("notebook", "data")
    'pip install "afx-toolkit[data,notebook]"'
    """
    named = ",".join(sorted(set(extras)))
    return f'pip install "{DISTRIBUTION}[{named}]"' if named else f"pip install {DISTRIBUTION}"


def need(*packages: str) -> None:
    """Check that packages are installed.

    Parameters
    ----------
    *packages : str
        Import names of packages that `EXTRAS` lists.

    Raises
    ------
    MissingPackage
        For the first one that is not installed. It says what needs it and how to install it.
    """
    for package in packages:
        if find_spec(package) is None:
            extra, use = EXTRAS[package]
            message = f"{package} is not installed, and is needed for {use}: {install_line(extra)}"
            raise MissingPackage(message, name=package)


def on_first_use(package: str, homes: Mapping[str, str], *packages: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names load on first use, so that it is cheap to import.

    Parameters
    ----------
    package : str
        Name of the package.
    homes : mapping
        Name → its module, relative to the package. A module that ends in the name is that name itself.
    *packages : str
        Optional packages that every name needs.
    """

    def load(name: str) -> Any:
        if name not in homes:
            from .suggestions import no_attribute

            raise no_attribute(f"module {package!r}", name, homes)
        need(*packages)
        module = import_module(f".{homes[name]}", package)
        value = module if homes[name].rpartition(".")[2] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load
