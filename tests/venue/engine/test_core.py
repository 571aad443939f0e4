"""The core as a state machine: time, processes, nonces, expiry, transactions, dumps."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from toolkit.errors import StoredFileError
from toolkit.stored.seals import before_header
from toolkit.venue.engine import dump_format, registry
from toolkit.venue.engine.changes import BlockDone
from toolkit.venue.engine.commands import ActionContext, Advance, Control, Outcome, Refused, Submit, WireError
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.model.market import saved

ALICE = "0x" + "a1" * 20


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    def echo(core: Core, context: ActionContext, action: dict[str, object]) -> dict[str, object]:
        if action.get("no"):
            raise Refused(7, "not today")
        return {"account": context.account.address}

    monkeypatch.setitem(registry.HANDLERS, "echo", echo)
    made = Core()
    made.account(ALICE)
    return made


def submit(core: Core, nonce: int, **fields: object) -> Outcome:
    action = {"type": "echo", "no": fields.pop("no", False)}
    return core.apply(Submit(core.state.time + 1, action, ALICE, nonce, **fields))  # type: ignore[arg-type]


def test_an_action_answers_with_its_transaction(core: Core) -> None:
    answer = submit(core, 1, digest=b"one")
    assert answer.code == 0
    assert answer.data is not None
    assert answer.data["account"] == ALICE
    assert answer.data["txCode"] == 0
    [record] = core.state.history.transactions.of(ALICE)
    assert record.hash == answer.data["txHash"]
    assert len(record.hash) == 66


def test_a_refusal_keeps_its_reason_and_its_transaction(core: Core) -> None:
    answer = submit(core, 1, no=True)
    assert (answer.code, answer.message, answer.status) == (40230, "not today", 200)
    assert answer.data is not None
    assert answer.data["txCode"] == 7
    assert core.state.history.transactions.records[-1].code == 7


@pytest.mark.parametrize("data", [None, {"retryAfter": 5}])
def test_an_action_that_the_wire_refuses_is_a_transaction_too(
    core: Core, monkeypatch: pytest.MonkeyPatch, data: dict[str, Any] | None
) -> None:
    def refuse(core: Core, context: ActionContext, action: dict[str, object]) -> None:
        raise WireError(40280, "not now", status=503, data=data)

    monkeypatch.setitem(registry.HANDLERS, "echo", refuse)
    answer = submit(core, 1)
    assert (answer.code, answer.message, answer.status) == (40280, "not now", 503)
    [record] = core.state.history.transactions.of(ALICE)
    assert (record.code, record.message) == (40280, "not now")
    assert answer.data == {"txHash": record.hash, "txCode": 40280, "txMsg": "not now", **(data or {})}


def test_a_nonce_counts_once_and_old_ones_are_refused(core: Core) -> None:
    assert submit(core, 5).code == 0
    assert submit(core, 5).code == 40207
    assert submit(core, 3).code == 0
    assert submit(core, 3).code == 40207
    for nonce in range(10, 10 + 1000):
        assert submit(core, nonce).code == 0
    late = submit(core, 4)
    assert late.code == 40207
    assert "nonce 4 is below 10, the smallest of the 1000 largest" in late.message


def test_unknown_actions_signers_and_controls_are_named(core: Core) -> None:
    time = core.state.time
    assert core.apply(Submit(time, {"type": "dance"}, ALICE, 1)).code == 40201
    assert core.apply(Submit(time, {"type": "echo"}, "0xbad", 1)).code == 40204
    assert "there is no control 'dance'" in core.apply(Control(time, "dance")).message


def test_processes_run_when_due_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int]] = []

    def every(name: str, step: int) -> None:
        def rule(core: Core, time: int) -> int | None:
            seen.append((name, core.state.time))
            return time + step

        monkeypatch.setitem(registry.PROCESSES, name, rule)

    every("slow", 30)
    every("prices", 10)
    core = Core(Genesis(time=0))
    core.state.schedule.clear()
    core.wake("slow", 30)
    core.wake("prices", 10)
    core.apply(Advance(45))
    assert seen == [("prices", 10), ("prices", 20), ("prices", 30), ("slow", 30), ("prices", 40)]
    assert core.state.time == 45
    core.apply(Advance(20))
    assert core.state.time == 45, "time never runs backwards"


def test_blocks_hold_their_transactions(core: Core) -> None:
    for nonce in (1, 2):
        submit(core, nonce)
    core.apply(Advance(GENESIS_TIME + 2500))
    submit(core, 3)
    core.apply(Advance(GENESIS_TIME + 10_000))
    blocks = core.state.history.blocks
    assert [(block.height, block.count, block.first) for block in blocks] == [(1, 2, 0), (3, 1, 2)]
    assert core.height == 11
    assert len({block.hash for block in blocks}) == 2


def test_a_block_is_complete_when_its_second_is_over_and_says_when_that_was(core: Core) -> None:
    core.events.clear()
    submit(core, 1)
    core.apply(Advance(GENESIS_TIME + 999))
    assert not core.state.history.blocks
    assert not [event for event in core.events if isinstance(event, BlockDone)]
    core.apply(Advance(GENESIS_TIME + 1_000))
    core.apply(Advance(GENESIS_TIME + 5_500))
    assert [(block.height, block.time, block.count) for block in core.state.history.blocks] == [
        (1, GENESIS_TIME + 1_000, 1)
    ]
    done = [(event.height, event.time, event.count) for event in core.events if isinstance(event, BlockDone)]
    assert done == [(1, GENESIS_TIME + 1_000, 1), (5, GENESIS_TIME + 5_000, 0)]


def test_a_dump_in_slices_is_that_of_the_moment_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_format, "RECORDS", 7)
    monkeypatch.setattr(dump_format, "WHOLE", 1)
    core = Core(Genesis(settings={"market": saved("usual")}))
    core.apply(Advance(GENESIS_TIME + 600_000))
    whole, slices = core.dump(), core.slices()
    assert before_header(whole) == msgspec.msgpack.encode(core.state)
    parts = []
    for part in slices:  # the venue goes on between any two
        parts.append(part)
        core.apply(Advance(core.state.time + 2_000))
    assert len(parts) > 20
    assert dump_format.joined(parts) == whole
    assert dump_format.hash_of(parts) == Core.load(whole).state_hash() != core.state_hash()


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 65_535, 65_536])
def test_slices_are_the_bytes_of_the_whole_for_every_length(count: int) -> None:
    core = Core()
    core.state.history.fills = {ALICE: list(range(count)), "b": []}
    assert b"".join(core.slices()) == msgspec.msgpack.encode(core.state)


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"", b"toolkit venue state 6\nrest", b"\xff" * 99])
def test_what_is_no_dump_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(StoredFileError, match=r"^these bytes \(venue dump\): it has no header: .* another program"):
        Core.load(data)


def test_a_dump_with_one_byte_changed_is_refused(core: Core) -> None:
    submit(core, 1)
    whole, chance = core.dump(), random.Random(5)
    for _ in range(200):
        at = chance.randrange(len(whole))
        with pytest.raises(StoredFileError, match=r"damaged: its seal|no header"):
            Core.load(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :])
    with pytest.raises(StoredFileError, match="damaged"):
        Core.load(whole[:-1])


def test_recording_events_does_not_change_the_state() -> None:
    cores = [Core(Genesis()), Core(Genesis())]
    cores[1].record_events(False)
    for core in cores:
        core.events.clear()
        core.apply(Control(core.state.time, "fund", {"address": "0x" + "1" * 40, "amount": "5"}))
        core.apply(Advance(core.state.time + 3_600_000))
    assert cores[0].events
    assert not cores[1].events
    assert cores[0].state_hash() == cores[1].state_hash()
    cores[1].record_events(True)
    cores[1].apply(Advance(cores[1].state.time + 60_000))
    assert cores[1].events


@pytest.mark.parametrize("answers", [(True, False), (False, True), (True, True)])
def test_hooks_run_again_while_one_of_them_trades(core: Core, answers: tuple[bool, ...]) -> None:
    runs: list[int] = []

    def hook(at: int) -> Any:
        def rule(core: Core) -> bool:
            runs.append(at)
            return answers[at] and runs.count(at) < 3

        return str(at), rule

    core.post_command_hooks = [hook(0), hook(1)]
    core.run_hooks()
    assert runs == [0, 1] * 3


def test_hooks_follow_a_rule_that_failed_half_way(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(core: Core) -> None:
        raise KeyError("x")

    runs: list[int] = []
    monkeypatch.setitem(registry.CONTROLS, "break_down", break_down)
    core.post_command_hooks = [("count", lambda core: runs.append(1))]
    with pytest.raises(KeyError):
        core.apply(Control(core.state.time, "break_down"))
    assert runs == [1]


@pytest.mark.parametrize(("due", "name", "time", "then"), [(None, "x", 5, 5), (7, "x", 5, 5), (5, "x", 7, 5)])
def test_a_process_is_woken_at_the_earlier_time(core: Core, due: int | None, name: str, time: int, then: int) -> None:
    if due is not None:
        core.state.schedule[name] = due
    core.wake(name, time)
    assert core.state.schedule[name] == then


def test_a_vault_is_entered_only_for_a_request_that_names_one(core: Core) -> None:
    assert submit(core, 1).code == 0
    answer = submit(core, 2, vault="0xdd")
    assert (answer.code, answer.message) == (40230, "there is no vault 0xdd")


def test_an_action_without_a_signed_nonce_uses_it_only_when_it_succeeds(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkit.venue.engine.core.UNSIGNED_NONCES", frozenset({"echo"}))
    assert submit(core, 1, no=True).code == 40230
    assert ALICE not in core.state.nonces
    assert submit(core, 1).code == 0
    assert core.state.nonces[ALICE].used == [1]
    assert submit(core, 1).code == 40207


def test_a_refused_action_uses_its_signed_nonce(core: Core) -> None:
    assert submit(core, 1, no=True).code == 40230
    assert submit(core, 1).code == 40207


def test_delayed_actions_are_executed_in_their_turn_with_what_they_were_sent_with(core: Core) -> None:
    core.state.settings["settleDelay"] = 1_000
    sent = []
    for nonce in (1, 2):
        answer = submit(core, nonce, digest=bytes([nonce]), no=nonce == 2)
        assert answer.code == 0
        assert answer.data is not None
        assert answer.data["txCode"] == 0
        sent.append((answer.data["txHash"], core.state.time + 1_000))
        core.apply(Advance(core.state.time + 100))
    assert core.state.history.transactions.records == []
    core.apply(Advance(sent[0][1]))
    assert [one.nonce for one in core.state.history.transactions.records] == [1]
    core.apply(Advance(sent[1][1] + 500))
    done = core.state.history.transactions.records
    assert [(one.hash, one.time) for one in done] == sent
    assert [(one.nonce, one.signer, one.address, one.action, one.code) for one in done] == [
        (1, ALICE, ALICE, "echo", 0),
        (2, ALICE, ALICE, "echo", 7),
    ]
    assert core.state.unsettled == []
