"""txCodes: one table, whose every number is raised by a rule, and no number outside of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import toolkit
from toolkit.venue.engine.commands import Refused, TxCode

SOURCES = [path for path in Path(toolkit.__file__).parent.rglob("*.py") if not path.name.endswith("_pb2.py")]


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Yield the nodes of the files that name the table or raise refusals."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if "TxCode" in text or "Refused" in text:
            yield from ((path, node) for node in ast.walk(ast.parse(text)))


def member(node: ast.AST) -> str | None:
    """Return the name of the member that `TxCode.NAME` reads; None for any other expression."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "TxCode":
        return node.attr
    return None


def test_every_refusal_names_a_member_of_the_table() -> None:
    found = 0
    for path, node in nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refused":
            code = node.args[0]
            repeated = isinstance(code, ast.Attribute) and code.attr == "code"  # a refusal raised again with more words
            assert repeated or member(code) in TxCode.__members__, f"{path}:{node.lineno}"
            found += 1
    assert found > 80


def test_every_member_of_the_table_is_used() -> None:
    assert {member(node) for _, node in nodes()} - {None} == set(TxCode.__members__)


def test_numbers_and_meanings_are_unique() -> None:
    assert len({code.meaning for code in TxCode}) == len(set(TxCode)) == len(TxCode.__members__)
    assert all(code.meaning for code in TxCode)


@pytest.mark.parametrize(
    ("code", "number"),
    [(TxCode.UNKNOWN_PRODUCT, 1001), (TxCode.POSITION_IN_LIQUIDATION, 2002), (TxCode.NO_BUILDER_GRANT, 5208),
     (TxCode.VAULT_CLOSED, 6003), (TxCode.ACCOUNT_IS_VAULT, 6015), (TxCode.UNKNOWN_TARGET, 7002)],
)  # fmt: skip
def test_numbers_stay_as_they_are_on_the_wire(code: TxCode, number: int) -> None:
    assert code == number == TxCode(number)
    assert msgspec.json.encode(code) == str(number).encode()
    assert type(Refused(code, "no").code) is int


def test_a_number_never_changes_its_meaning() -> None:
    known = (Path(__file__).parents[2] / "frozen/tx_codes.txt").read_text(encoding="utf-8").splitlines()
    assert [f"{code.value} {code.name}" for code in TxCode] == known, "add new numbers to the file, and change none"
