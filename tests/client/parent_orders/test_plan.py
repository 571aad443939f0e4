"""The arithmetic of a parent order: whatever its children fill, never more than its quantity, nor much at once."""

from __future__ import annotations

import threading
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.fake import META
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.client.parent_orders.plan import CATCH_UP, Child, Plan
from toolkit.orders import twap
from toolkit.products import ProductTable

BTC = ProductTable.from_meta(META)["BTCUSDC"]


@given(steps=st.integers(2, 5000), slices=st.integers(2, 60), seed=st.integers(0, 2**32))
def test_children_never_add_up_to_more_and_are_never_much_larger(steps: int, slices: int, seed: int) -> None:
    random = Random(seed)
    slices = min(slices, steps)
    total = BTC.step_size * steps
    made = twap("BTCUSDC", "BUY", total, "10d", slices=slices)
    plan = Plan("parent-1", "local", "0x", None, 0, made, 0, "me")
    largest = CATCH_UP * (total / slices + 2 * BTC.step_size)
    for number in range(slices):
        quantity = plan.next_quantity(BTC)
        assert quantity % BTC.step_size == 0
        assert 0 <= quantity <= largest
        child = None
        if quantity and random.randrange(10):  # else it could not be placed
            known = random.choice([None, Decimal(0), quantity, BTC.step_size])
            child = Child(f"intent-{number}", plan.due_ms, plan.due_ms + 60_000, quantity, known)
        plan = plan.advanced(plan.due_ms, child)
        committed = sum((one.quantity if one.filled is None else one.filled for one in plan.children), Decimal(0))
        assert committed <= made.due(BTC, plan.done) <= total
    assert Plan.load(plan.dump()) == plan
    everything = replace(plan, children=tuple(replace(one, filled=one.quantity) for one in plan.children))
    assert everything.settled


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id": 5}', "null", '{"id": "parent-1", "twap": {}}'])
def test_an_entry_of_another_kind_is_no_plan(text: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        Plan.load(text)


def test_notes_change_one_step_at_a_time_however_many_write_them(tmp_path: Path) -> None:
    path = tmp_path / "intents.sqlite"
    SqliteLedger(path).note("count", None, "0")

    def work() -> None:
        ledger = SqliteLedger(path)
        for _ in range(20):
            while True:
                before = ledger.notes()["count"]
                if ledger.note("count", before, str(int(before) + 1)):
                    break
        ledger.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert SqliteLedger(path).notes() == {"count": "80"}
