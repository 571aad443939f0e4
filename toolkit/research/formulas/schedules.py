"""Optimal schedules and quotes: how fast to close a position, and where to quote with one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError


def almgren_chriss(
    quantity: float,
    periods: int,
    *,
    risk_aversion: float,
    volatility: float,
    temporary: float,
    permanent: float = 0.0,
    length: float = 1.0,
) -> NDArray[np.float64]:
    """Return the holdings of the cheapest execution at a risk aversion (Almgren and Chriss, 2000).

    Parameters
    ----------
    quantity : float
        Quantity to trade, base units.
    periods : int
        Number of periods, 1 or more.
    risk_aversion : float
        Weight of the variance of the cost against its mean, per USDC. 0 trades evenly.
    volatility : float
        Standard deviation of the price in one unit of time, USDC.
    temporary : float
        Temporary impact η: USDC for each base unit per unit of time.
    permanent : float, optional
        Permanent impact γ: USDC for each base unit (default: 0).
    length : float, optional
        Length τ of a period, in the same unit of time (default: 1).

    Returns
    -------
    array of float64, shape (periods + 1,)
        What is left at the beginning, and after each period: the quantity first, 0 last.

    Raises
    ------
    InputError
        If η is not above γτ / 2.

    Examples
    --------
    >>> formulas.almgren_chriss(100, 4, risk_aversion=0, volatility=1, temporary=0.1).tolist()
    [100.0, 75.0, 50.0, 25.0, 0.0]
    """
    rate, times = almgren_chriss_rate(risk_aversion, volatility, temporary, permanent, length), np.arange(periods + 1)
    if not rate:
        return quantity * (1 - times / periods)
    return np.asarray(quantity * np.sinh(rate * length * (periods - times)) / math.sinh(rate * length * periods))


def almgren_chriss_rate(
    risk_aversion: float, volatility: float, temporary: float, permanent: float = 0.0, length: float = 1.0
) -> float:
    """Return κ, the rate at which the cheapest execution trades. 1 / κ is its half-life. See `almgren_chriss`.

    Parameters
    ----------
    risk_aversion : float
        Weight of the variance, per USDC.
    volatility : float
        Standard deviation of the price in one unit of time, USDC.
    temporary : float
        Temporary impact η: USDC for each base unit per unit of time.
    permanent : float, optional
        Permanent impact γ: USDC for each base unit (default: 0).
    length : float, optional
        Length τ of a period (default: 1).

    Returns
    -------
    float
        Per unit of time.

    Raises
    ------
    InputError
        If η is not above γτ / 2.

    Examples
    --------
    >>> round(formulas.almgren_chriss_rate(1e-6, 0.95, 2.5e-6, 2.5e-7), 2)
    0.61
    """
    left = temporary - permanent * length / 2
    if not left > 0:
        text = f"temporary is {temporary}, but must be above permanent · length / 2 = {permanent * length / 2:g}"
        raise InputError(text, field="temporary", rule="above permanent · length / 2", value=temporary)
    return math.acosh(risk_aversion * volatility**2 / left * length**2 / 2 + 1) / length


def avellaneda_stoikov(
    mid: float, inventory: float, *, risk_aversion: float, volatility: float, intensity: float, left: float
) -> tuple[float, float]:
    """Return the bid and ask of a maker with an inventory (Avellaneda and Stoikov, 2008).

    They lie around mid − inventory · γ σ² (T − t), and are γ σ² (T − t) + (2 / γ) ln(1 + γ / k) apart.

    Parameters
    ----------
    mid : float
        Mid price, USDC.
    inventory : float
        Signed position q, units.
    risk_aversion : float
        Risk aversion γ, above 0.
    volatility : float
        Standard deviation σ of the price in one unit of time, USDC.
    intensity : float
        Decay k of the arrival of orders with their distance from the mid, per USDC.
    left : float
        Time T − t that is left.

    Returns
    -------
    tuple of (float, float)
        Bid and ask, USDC.

    Examples
    --------
    >>> bid, ask = formulas.avellaneda_stoikov(100, 0, risk_aversion=0.1, volatility=2, intensity=1.5, left=0.5)
    >>> round(ask - bid, 2)
    1.49
    """
    risk = risk_aversion * volatility**2 * left
    centre = mid - inventory * risk
    half = risk / 2 + math.log1p(risk_aversion / intensity) / risk_aversion
    return centre - half, centre + half
