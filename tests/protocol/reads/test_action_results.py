"""What an answer says of an order: only a code that is the whole number 0 accepts it."""

from __future__ import annotations

import pytest

from toolkit.protocol.reads.action_results import ActionAnswer, ItemAnswer


@pytest.mark.parametrize(
    ("code", "read"),
    [
        (0, 0),
        ("0", 0),
        (40230, 40230),
        ("40230", 40230),
        (None, None),
        *((damaged, -1) for damaged in (0.5, "0.5", False, True, "", "accepted", [], {})),
    ],
)
def test_a_code_that_is_no_whole_number_is_not_accepted(code: object, read: int | None) -> None:
    assert ItemAnswer.read({"txCode": code}).code == read
    answer = ActionAnswer.read({"txHash": "0x1", "results": [{"txCode": code, "ordId": "7"}, "no object"]})
    assert answer.results is not None
    assert [(one.code, one.order_id) for one in answer.results] == [(read, 7)]


@pytest.mark.parametrize("data", [None, [], "text", {"results": "text"}])
def test_an_answer_without_results_has_none(data: object) -> None:
    assert ActionAnswer.read(data).results is None
