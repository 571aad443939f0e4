"""`Trouble`: what goes wrong at a venue and when, written in Python or in a TOML file with the same names."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import InputError, require
from ...suggestions import check_known
from .answers import CachedAnswer, LateAnswer, LostAnswer, ProxyPage, TooManyRequests, TruncatedAnswer
from .messages import FeedDoor, LargeMessages, LateMessages, LostMessages, MessageLimit, RepeatedMessages
from .phases import Phase
from .rows import MissingRows, OtherAccount, RepeatedRows, WrongTotal
from .states import CandleGrid, Lag, Listing, NonceWindow

KINDS: dict[str, type[Phase]] = {
    kind.__name__: kind
    for kind in (
        *(TooManyRequests, ProxyPage, TruncatedAnswer, CachedAnswer, LateAnswer, LostAnswer),
        *(Lag, NonceWindow, Listing, CandleGrid),
        *(OtherAccount, RepeatedRows, MissingRows, WrongTotal),
        *(LostMessages, RepeatedMessages, LateMessages, LargeMessages, MessageLimit, FeedDoor),
    )
}
"""Every kind of trouble by the name of its class, which a file gives as `kind`."""


class Trouble:
    """What goes wrong at a venue, each for a phase of the venue's time.

    Where several match a request, they apply in this order: the first answer in place of the venue's is the one, and
    the venue's answer passes all of them.

    Parameters
    ----------
    *phases : Phase
        The troubles, such as `Lag(path="/info/trade/page", by="3s")`.
    seed : int, optional
        Seed of their chance. The same seed and the same requests give the same troubles (default: 0).

    Examples
    --------
    >>> from toolkit.venue.trouble import Lag, LostAnswer, Trouble
    >>> Trouble(Lag(path="/info/trade/page", by="3s"), LostAnswer(share=0.1, start="30s", end="2m"), seed=1)
    <Trouble seed=1: Lag path=/info/trade/page by=3s; LostAnswer start=30s end=2m share=0.1>
    """

    def __init__(self, *phases: Phase, seed: int = 0) -> None:
        for phase in phases:
            require(phase, Phase, "trouble", f"troubles, of the kinds {', '.join(KINDS)}")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InputError(f"seed is {seed!r}. Give a whole number", field="seed", rule="integer", value=seed)
        self.phases = phases
        self.seed = seed
        names = Counter(name for name, _ in self.named())
        if twice := [name for name, count in names.items() if count > 1]:
            text = f"name {twice[0]!r} is that of several troubles. Give each its own name, or none"
            raise InputError(text, field="name", rule="once", value=twice[0])

    @classmethod
    def load(cls, path: str | Path) -> Trouble:
        """Return the troubles of a TOML file.

        Parameters
        ----------
        path : str or Path
            The file. It has `seed`, and a table `[[trouble]]` for each trouble, with its `kind` and its fields.

        Returns
        -------
        Trouble

        Raises
        ------
        InputError
            For a file that can't be read or is no TOML, and for a field that would not pass. The message has the line.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
            given = tomllib.loads(text)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} can't be read: {error}", field="trouble", rule="readable") from error
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{path} is not TOML: {error}", field="trouble", rule="TOML") from error
        return _read(given, _Places(str(path), text))

    def named(self) -> Iterator[tuple[str, Phase]]:
        """Yield each trouble with the name under which it is counted."""
        kinds = Counter(type(phase).__name__ for phase in self.phases if not phase.name)
        seen = Counter[str]()
        for phase in self.phases:
            kind = type(phase).__name__
            if not phase.name:
                seen[kind] += 1
            yield phase.name or (kind if kinds[kind] == 1 else f"{kind} {seen[kind]}"), phase

    def as_json(self) -> dict[str, Any]:
        """Return the troubles as values of JSON, for the controls of a served venue.

        Returns
        -------
        dict
            `seed`, and `trouble`, a list with `kind` and the chosen fields of each.

        Examples
        --------
        >>> Trouble(Lag(by="3s")).as_json()
        {'seed': 0, 'trouble': [{'kind': 'Lag', 'by': '3s'}]}
        """
        rows = [{"kind": type(phase).__name__, **phase.chosen()} for phase in self.phases]
        return {"seed": self.seed, "trouble": rows}

    def __repr__(self) -> str:
        return f"<Trouble seed={self.seed}: {'; '.join(map(str, self.phases)) or 'none'}>"


Troubles = Trouble | Phase | str | Path | Mapping[str, Any] | Sequence[Phase | Mapping[str, Any]]
"""Forms of troubles: a `Trouble`, one or several kinds, a TOML file, and what such a file holds."""


def read(given: Troubles) -> Trouble:
    """Return troubles in any of their forms as a `Trouble`.

    Parameters
    ----------
    given : Trouble, Phase, str, Path, mapping or sequence
        A `Trouble`, one trouble or a list of them, the path of a TOML file, or its contents as a dictionary.

    Raises
    ------
    InputError
        For anything else, and for a field that would not pass.
    """
    if isinstance(given, Trouble):
        return given
    if isinstance(given, Phase):
        return Trouble(given)
    if isinstance(given, str | Path):
        return Trouble.load(given)
    if isinstance(given, Mapping):
        return _read(given, _Places())
    require(given, Sequence, "trouble", "a Trouble, a list of its kinds, or the path of a TOML file")
    return _read({"trouble": given}, _Places())


class _Places:
    """Where the parts of a file stand, for errors.

    Parameters
    ----------
    file : str, optional
        Path of the file (default: "", no file).
    text : str, optional
        Its text (default: "").
    """

    def __init__(self, file: str = "", text: str = "") -> None:
        self._file = file
        self._lines = text.splitlines()

    def of(self, field: str, number: int | None = None) -> str:
        """Return the place of a field of a trouble (or of the whole file) as the beginning of a message.

        Parameters
        ----------
        field : str
            Name of the field, "" for the trouble itself.
        number : int or None, optional
            Number of the trouble from 0 on (default: `None`, the whole file).
        """
        where = "" if number is None else f"trouble {number + 1}"
        if not self._file:
            return f"{where}: " if where else ""
        heads = [at for at, line in enumerate(self._lines) if re.match(r"\s*\[\[\s*trouble\s*\]\]", line)]
        begin, end = 0, len(self._lines)
        if number is not None and number < len(heads):
            begin = heads[number]
            end = heads[number + 1] if number + 1 < len(heads) else end
        found = [at for at in range(begin, end) if re.match(rf"\s*\"?{re.escape(field)}\"?\s*=", self._lines[at])]
        line = found[0] if field and found else begin
        return f"{self._file}, line {line + 1}{f', {where}' if where else ''}: "


def _read(given: Mapping[str, Any], places: _Places) -> Trouble:
    rows, number = given.get("trouble", ()), None
    try:
        check_known(given, ("seed", "trouble"), "the file", "setting of troubles")
        if not isinstance(rows, Sequence) or isinstance(rows, str):
            message = "trouble is not a list. Begin each trouble with [[trouble]]"
            raise InputError(message, field="trouble", rule="list", value=rows)
        phases = []
        for number, row in enumerate(rows):  # noqa: B007, the number is for errors
            phases.append(_phase(row))
        number = None
        return Trouble(*phases, seed=given.get("seed", 0))
    except InputError as error:
        text = f"{places.of(str(error.value) if error.rule == 'known' else error.field, number)}{error}"
        raise InputError(text, field=error.field, rule=error.rule, value=error.value, nearest=error.nearest) from None


def _phase(row: Phase | Mapping[str, Any]) -> Phase:
    if isinstance(row, Phase):
        return row
    require(row, Mapping, "trouble", 'a table with the kind and its fields, such as kind = "Lag", by = "3s"')
    name = row.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        text = f"kind is {name!r}. Give one of {', '.join(KINDS)}"
        raise InputError(text, field="kind", rule="choice", value=name, nearest=tuple(KINDS))
    kind, fields = KINDS[name], {key: value for key, value in row.items() if key != "kind"}
    check_known(fields, kind.settings(), name, f"field of {name}")
    return kind(**fields)
