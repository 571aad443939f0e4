"""Troubles are written in Python, in a file or as JSON alike, and a field that would not pass is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import toolkit
from toolkit.errors import InputError
from toolkit.venue.local import LocalVenue
from toolkit.venue.trouble import KINDS, Lag, Listing, LostAnswer, NonceWindow, Phase, Trouble

ADDRESS = "0x" + "ab" * 20
NEEDED: dict[str, dict[str, Any]] = {
    "Listing": {"symbol": "BTCUSDC", "hidden": True},
    "OtherAccount": {"address": ADDRESS},
}
"""Kind → the fields that it can't do without."""

FILE = """
seed = 7

[[trouble]]
kind = "Lag"
path = "/info/trade/page"
by = "3s"

[[trouble]]  # from half a minute on
kind = "LostAnswer"
action = "placeOrder"
share = 0.5
start = "30s"
end = "2m"
"""
SAME = Trouble(
    Lag(path="/info/trade/page", by="3s"), LostAnswer(action="placeOrder", share=0.5, start="30s", end="2m"), seed=7
)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_the_same_in_python_and_as_json(kind: str) -> None:
    made = Trouble(KINDS[kind](**NEEDED.get(kind, {}), start="1s", end="1m", share=0.5, name="mine"))
    with LocalVenue(clock="manual", market=False, accounts=1, trouble=made.as_json()) as venue:
        assert venue.host.trouble.described() == [str(made.phases[0])]
        assert venue.control.trouble_counts() == {"mine": 0}
        assert venue.control.set_trouble(made) == ["mine"]


def test_a_file_holds_what_python_says(tmp_path: Path) -> None:
    path = tmp_path / "bad-day.toml"
    path.write_text(FILE, encoding="utf-8")
    read = Trouble.load(path)
    assert read.as_json() == SAME.as_json()
    assert repr(read) == repr(SAME)
    for given in (path, str(path), SAME, list(SAME.phases), SAME.as_json()):
        with LocalVenue(clock="manual", market=False, accounts=1, trouble=given) as venue:
            assert list(venue.control.trouble_counts()) == ["Lag", "LostAnswer"]


@pytest.mark.parametrize(
    ("change", "place", "wanted"),
    [
        (('by = "3s"', 'by = "soon"'), "line 7, trouble 1: ", "by 'soon' is not a span"),
        (('by = "3s"', "by = 3"), "line 7, trouble 1: ", 'Write "3s"'),
        (('by = "3s"', 'bye = "3s"'), "line 7, trouble 1: ", "Did you mean 'by'?"),
        (("share = 0.5", "share = 1.5"), "line 12, trouble 2: ", "share is 1.5. Give a share above 0 and at most 1"),
        (('end = "2m"', 'end = "30s"'), "line 14, trouble 2: ", "end is '30s'. Give a span above start"),
        (('kind = "LostAnswer"', 'kind = "Lost"'), "line 10, trouble 2: ", "Give one of TooManyRequests, ProxyPage"),
        (('kind = "LostAnswer"', ""), "line 9, trouble 2: ", "kind is None"),
        (("seed = 7", 'seed = "x"'), "line 2: ", "seed is 'x'. Give a whole number"),
        (("seed = 7", "sed = 7"), "line 2: ", "Did you mean 'seed'?"),
        (("seed = 7", "seed = "), "is not TOML", "line 2"),
    ],
)
def test_an_error_of_a_file_names_line_field_and_what_would_pass(
    tmp_path: Path, change: tuple[str, str], place: str, wanted: str
) -> None:
    path = tmp_path / "bad-day.toml"
    path.write_text(FILE.replace(*change), encoding="utf-8")
    with pytest.raises(InputError) as error:
        LocalVenue(trouble=path)
    message = str(error.value)
    assert message.startswith(str(path))
    assert place in message
    assert wanted in message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.toml can't be read"):
        Trouble.load(tmp_path / "no.toml")


@pytest.mark.parametrize(
    ("kind", "fields", "wanted"),
    [
        ("TooManyRequests", {"most": 0}, "a whole number from 1"),
        ("TooManyRequests", {"body": "xml"}, "one of json, html, empty"),
        ("ProxyPage", {"status": 99}, "200 to 599"),
        ("TruncatedAnswer", {"keep": 1}, "a part below 1"),
        ("LostAnswer", {"executed": "yes"}, "true or false"),
        ("LostAnswer", {"path": ""}, "a text"),
        ("Lag", {"by": "0s"}, "a span above 0"),
        ("Lag", {"share": True}, "a share"),
        ("NonceWindow", {"ahead": None, "behind": None}, "one of ahead, behind and last"),
        ("Listing", {"symbol": "NOPE"}, "changes nothing of NOPE. Give status, hidden"),
        ("LostAnswer", {"action": "placeOrders"}, "the type of an action, .*such as placeOrder"),
        ("Lag", {"path": "/info/orders/*"}, "the path of a request"),
        ("LostMessages", {"channel": "orderbook"}, "the type of a channel, .*such as orderBook"),
        ("OtherAccount", {"address": "0x70997970c51812dc3A010C7d01b50e0d17dc79C8"}, "break the EIP-55 checksum"),
        ("Listing", {"hidden": True}, "symbol is ''"),
        ("Listing", {"symbol": "BTCUSDC", "status": 1.5}, "a text or a whole number"),
        ("Listing", {"symbol": "BTCUSDC", "hidden": True, "keeps_row": True}, "not hidden"),
        ("CandleGrid", {"day": "25h"}, "below 24 hours"),
        ("CandleGrid", {"week": "Montag"}, "one of thursday"),
        ("OtherAccount", {"address": "0x12"}, "40 hex digits"),
        ("WrongTotal", {"by": 0}, "other than 0"),
        ("MessageLimit", {"then": "wait"}, "one of close, lose"),
        ("FeedDoor", {"port": 70_000}, "0 to 65535"),
    ],
)
def test_a_field_that_would_not_pass_is_refused_with_what_would(kind: str, fields: dict[str, Any], wanted: str) -> None:
    with pytest.raises(InputError, match=f"(?s)Give .*{wanted}|{wanted}") as error:
        KINDS[kind](**fields)
    assert error.value.field in KINDS[kind].settings()


@pytest.mark.parametrize(
    "given", [7, "x.toml\n", [3], [Lag(name="a"), Lag(name="a")], [Lag(name="LostAnswer"), LostAnswer()]]
)
def test_what_is_no_trouble_is_refused(given: Any) -> None:
    with pytest.raises(InputError):
        LocalVenue(market=False, trouble=given)


def test_another_process_sets_counts_and_clears_them_over_the_control_interface() -> None:
    with (
        LocalVenue(clock="manual", market=False) as venue,
        venue.serve(control=True) as served,
        toolkit.connect(base_url=served.base_url, control_token=served.control_token) as session,
    ):
        assert session.venue is not None
        control = session.venue.control
        assert control.set_trouble(Trouble(NonceWindow(ahead="0s")).as_json()) == ["NonceWindow"]
        assert control.trouble_counts() == {"NonceWindow": 0}
        with pytest.raises(toolkit.errors.BadRequest, match="share is 2"):
            control.set_trouble([{"kind": "Lag", "share": 2}])
        with pytest.raises(toolkit.errors.BadRequest, match="Give Trouble"):
            control.set_trouble("/etc/hostname")
        control.clear_trouble()
        assert control.trouble_counts() == {}


def test_a_listing_of_an_unknown_product_is_refused_before_there_is_a_venue() -> None:
    with pytest.raises(InputError, match="DOGEUSDC"):
        LocalVenue(market=False, trouble=Listing(symbol="DOGEUSDC", status=2))


def test_the_settings_of_a_kind_are_shown_as_they_are_written() -> None:
    shown: Phase = Lag(path="/info/trade/page", by="3s", start="10s")
    assert str(shown) == "Lag start=10s path=/info/trade/page by=3s"
