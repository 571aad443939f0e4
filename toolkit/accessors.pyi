"""Types of the registered methods; a test compares them with the functions."""

from collections.abc import Callable
from typing import Any

from toolkit.numerals import Span
from toolkit.widgets import Dashboard, OrderTicket

class Accessors:
    def ticket(self, symbol: str | int, **fields: Any) -> OrderTicket: ...
    def dashboard(self, symbol: str | int, interval: Span = "1m") -> Dashboard: ...

def register(name: str, method: Callable[..., Any]) -> None: ...
