"""Every finding of `toolkit doctor` in full: its mark, its sentence and its advice."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.cli.test_doctor import AGENT, Answers
from tests.client.fake import AGENT_KEY, BTC, MASTER, MASTER_KEY, META, NOW, Clock, session
from toolkit import errors
from toolkit.__main__ import main
from toolkit.cli import doctor
from toolkit.cli.doctor import Finding
from toolkit.client.io.route import PROXIES
from toolkit.extras import install_line

FUNDED: dict[str, Any] = {"product_meta": META, "wallet": [{"equity": "12.5"}, {"equity": "1000"}]}
ACTIVE = {"status": 1, "agentName": "bot", "masterAddress": MASTER, "expiresAt": NOW + 9 * doctor.DAY_MS}
LISTED = Finding("products", "ok", "1 listed: BTCUSDC")
APPROVED = Finding("agent", "ok", f"approved as 'bot' by {MASTER} until 2026-01-10 00:00 UTC")
RICH = Finding("account", "ok", f"{MASTER} has an equity of 1,012.50 USDC")
HOW = "`toolkit agent renew`, or session.exchange.approve_agent(validity_seconds=7 * 86400)"
WITH_MASTER = f"approve it with a session that has the master key: {HOW}"


@pytest.fixture(autouse=True)
def _wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "300")
    for name in ("TOOLKIT_AGENT_KEY", "TOOLKIT_MASTER_KEY", "TOOLKIT_ACCOUNT", "TOOLKIT_WS_URL", *PROXIES):
        monkeypatch.delenv(name, raising=False)


def examined(venue: Any, variables: dict[str, str] | None = None, **options: Any) -> tuple[list[Finding], bool]:
    """Return the findings after those of the environment and of the answer's time, and whether it was reached."""
    steps = doctor.examine(session(venue, **options), variables or {})
    found = [next(steps)]
    while True:
        try:
            found.append(next(steps))
        except StopIteration as ended:
            reached = bool(ended.value)
            break
    assert found[0].name == "environment"
    timed = [one for one in found if one.name == "reachable" and one.state == "ok"]
    for one in timed:
        assert 0 <= int(one.text.removeprefix("answered in ").removesuffix(" ms")) < 60_000
    return [one for one in found[1:] if one not in timed], reached


def clock(skew_ms: int = 0) -> Finding:
    return Finding("clock", "ok", doctor.describe_clock_skew(skew_ms))


def test_all_is_well_with_clock_products_agent_and_equity_in_this_order() -> None:
    found, reached = examined(Answers(**FUNDED, agent=[ACTIVE]), clock=Clock(NOW))
    assert found == [clock(), LISTED, APPROVED, RICH]
    assert reached is True


@pytest.mark.parametrize(
    ("lead_ms", "state", "text"),
    [(12_000, "ok", "12.0 s ahead of"), (-5, "ok", "not ahead of"), (7_200_000, "warn", "2.0 h ahead of")],
)
def test_the_lead_of_nonces_over_the_venues_time_is_shown(lead_ms: int, state: str, text: str) -> None:
    options: Any = {"clock": Clock(NOW)}
    with session(Answers(**FUNDED), **options) as s:
        s._delivery.nonces(str(s.wallet.agent)).next(NOW + lead_ms)
    [found] = [one for one in examined(Answers(**FUNDED, agent=[ACTIVE]), **options)[0] if one.name == "nonces"]
    assert (found.state, found.text) == (state, f"the last nonce of the agent key is {text} the venue's time")


def test_the_environment_is_named_with_its_address_and_chain() -> None:
    with session(Answers(**FUNDED)) as far, toolkit.connect(clock="manual") as near:
        first = [next(doctor.examine(one, {})) for one in (far, near)]
    assert first == [
        Finding("environment", "ok", f"testnet, {far.environment.base_url}, chain 421614 (Testnet)"),
        Finding("environment", "ok", "local, in this process, chain 421614 (Testnet)"),
    ]


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_is_named_only_where_requests_leave_this_machine(name: str) -> None:
    variables = {name: "http://me:secret@proxy.example:3128", "HTTP_PROXY": "http://other.example"}
    found, _ = examined(Answers(**FUNDED), variables)
    assert found[0] == Finding("proxy", "note", f"queries and feed: through http://proxy.example:3128 ({name})")
    with toolkit.connect(clock="manual") as near:
        assert "proxy" not in [one.name for one in doctor.examine(near, variables)]
    here, _ = examined(Answers(**FUNDED), variables, environment="local", base_url="http://127.0.0.1:9")
    assert "proxy" not in [one.name for one in here]


def test_queries_and_feed_are_looked_at_each(tmp_path: Path) -> None:
    variables = {"HTTPS_PROXY": "ftp://proxy.example", "NO_PROXY": "api-testnet.afx.xyz"}
    found, _ = examined(Answers(**FUNDED), variables)
    assert (found[0].name, found[0].state) == ("network", "fail")
    assert found[0].text.startswith("feed: nothing was sent: HTTPS_PROXY is ftp://proxy.example. Proxies are http://")
    found, _ = examined(Answers(**FUNDED), {"SSL_CERT_DIR": str(tmp_path), "CURL_CA_BUNDLE": "x"})
    assert [each.text for each in found[:2]] == [
        f"queries and feed: those of SSL_CERT_DIR {tmp_path}",
        "not read: CURL_CA_BUNDLE. Certificates are named by SSL_CERT_FILE or SSL_CERT_DIR",
    ]


OTHER = "another server than the venue answers: a proxy, a log-in page or a wrong address. Open it in a browser"


REFUSED = "the venue refused a public query. Try again later"
UNREACHABLE: list[tuple[Any, str]] = [
    (httpx.ConnectError("no route"),
     "check address and network. Behind a proxy set HTTPS_PROXY. Start a local venue: python -m toolkit venue"),
    (httpx.ReadTimeout("slow"),
     "try again. If it fails again, a firewall or proxy blocks the connection, or the venue is down"),
    *((httpx.Response(status, text="<html>log in</html>"),
       "another server than the venue answers: a proxy, a log-in page or a wrong address. Open it in a browser")
      for status in (200, 403)),
    (httpx.Response(200, json={"code": 40006, "message": "not here"}),
     "the venue does not serve this location. The local venue works anywhere"),
    (httpx.Response(200, json={"code": 40280, "message": "halted"}), REFUSED),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "advice"), UNREACHABLE)
def test_a_venue_that_can_not_be_reached_is_explained(answer: Any, advice: str) -> None:
    found, _ = examined(Answers(product_meta=answer))
    assert (found[0].name, found[0].state, found[0].advice) == ("reachable", "fail", advice)


def test_a_venue_that_does_not_answer_ends_the_examination() -> None:
    down = Answers(product_meta=httpx.ConnectError("no route"))
    found, reached = examined(down)
    assert [(one.name, one.state) for one in found] == [("reachable", "fail"), ("address", "note")]
    assert found[1].text.startswith("the second published address does not answer either: ")
    assert reached is False
    found, _ = examined(down, environment="local", base_url="http://127.0.0.1:9")
    assert [one.name for one in found] == ["reachable"]


@pytest.mark.parametrize("environment", ["testnet", "mainnet"])
def test_the_second_address_that_answers_is_advised(environment: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host.startswith("api10"):
            return Answers(product_meta=META)(request)
        raise httpx.ConnectError("no route", request=request)

    found, _ = examined(answer, environment=environment)
    base, feed = doctor.FURTHER_ADDRESSES[toolkit.environments.PRESETS[environment].base_url]
    assert found[1] == Finding(
        "address", "warn", f"the second published address answers: {base}",
        f"set TOOLKIT_BASE_URL={base} and TOOLKIT_WS_URL={feed}",
    )  # fmt: skip


NTP = "set this machine's clock by the network (NTP): orders carry times, and late ones are refused with 40208"


@pytest.mark.parametrize(
    ("skew", "local", "state"),
    [
        (0, False, "ok"), (1_999, False, "ok"), (-1_999, True, "ok"), (2_000, False, "warn"), (-2_000, False, "warn"),
        (29_999, False, "warn"), (30_000, False, "fail"), (-30_000, False, "fail"), (2_000, True, "note"),
        (-90_000, True, "note"),
    ],
)  # fmt: skip
def test_a_clock_is_judged_by_its_distance(skew: int, local: bool, state: str) -> None:
    where = {"environment": "local", "base_url": "http://127.0.0.1:9"} if local else {}
    found, _ = examined(Answers(**FUNDED), clock=Clock(NOW + skew), **where)
    words, advice = doctor.describe_clock_skew(skew), "" if state in ("ok", "note") else NTP
    if state == "note":
        words = "at the venue it is 2026-01-01 00:00:00 UTC. Sessions follow its time"
    assert found[0] == Finding("clock", state, words, advice)


def test_answers_without_a_time_leave_the_clock_unknown() -> None:
    venue = Answers(**FUNDED)
    venue.headers = {}
    text = "the venue's answers carry no time, so this clock can't be compared"
    assert examined(venue)[0][0] == Finding("clock", "note", text)


def test_products_are_counted_and_the_first_eight_named() -> None:
    rows = [{**BTC, "symbol": f"S{number}", "code": str(number)} for number in range(1, 11)]
    found, _ = examined(Answers(product_meta={**META, "perpProducts": rows}), wallet=None)
    assert found[1] == Finding("products", "ok", "10 listed: S1, S2, S3, S4, S5, S6, S7, S8")
    found, _ = examined(Answers(product_meta={"perpProducts": []}), wallet=None)
    assert found[1] == Finding(
        "products", "warn", "the venue answers but lists no products, so nothing can be traded",
        "wait for the venue to list products, or practise locally: python -m toolkit quickstart",
    )  # fmt: skip
    found, _ = examined(Answers(product_meta={**META, "perpProducts": [{}, BTC]}), wallet=None)
    assert (found[1].name, found[1].state) == ("products", "warn")
    assert found[1].advice == "the other products work. Report it to the venue"
    assert found[2] == LISTED


DAY = doctor.DAY_MS
BY = f"approved as 'bot' by {MASTER}"


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([], [("fail", f"{AGENT} is not approved by any account")]),
        ([{"status": 2}], [("fail", f"{AGENT} was revoked")]),
        ([{**ACTIVE, "expiresAt": None}],
         [("ok", f"{BY}. Until when is not known here: the venue lists no end, and it was signed elsewhere")]),
        ([{**ACTIVE, "status": "ACTIVE", "expiresAt": NOW + 2 * DAY}, {"status": 2}, ACTIVE],
         [("ok", f"{BY} until 2026-01-03 00:00 UTC"), ("ok", APPROVED.text)]),
    ],
)  # fmt: skip
def test_an_approval_is_reported_with_its_name_its_master_and_its_end(
    rows: list[dict[str, Any]], wanted: list[tuple[str, str]]
) -> None:
    found, _ = examined(Answers(**{**FUNDED, "wallet": []}, agent=rows), clock=Clock(NOW))
    assert [one for one in found if one.name == "agent"] == [
        Finding("agent", state, text, "" if state == "ok" else WITH_MASTER) for state, text in wanted
    ]


@pytest.mark.parametrize(
    ("left_ms", "state", "text"),
    [
        (-60_000, "fail", f"{BY}, but that ended 2025-12-31 23:59 UTC"),
        (60_000, "warn", f"{BY} until 2026-01-01 00:01 UTC, in less than a day"),
        (DAY - 60_000, "warn", f"{BY} until 2026-01-01 23:59 UTC, in less than a day"),
        (DAY + 60_000, "ok", f"{BY} until 2026-01-02 00:01 UTC"),
    ],
)
def test_an_approval_that_ends_within_a_day_is_a_warning(left_ms: int, state: str, text: str) -> None:
    rows = [{**ACTIVE, "expiresAt": NOW + left_ms}]
    found, _ = examined(Answers(**FUNDED, agent=rows), clock=Clock(NOW))
    assert found[2] == Finding("agent", state, text, "" if state == "ok" else WITH_MASTER)


def test_a_master_key_in_the_session_approves_without_another_one() -> None:
    wallet = toolkit.Wallet(agent=AGENT_KEY, master=MASTER_KEY)
    found, _ = examined(Answers(product_meta=META, agent=[{"status": 2}]), wallet=wallet)
    assert found[2] == Finding("agent", "fail", f"{AGENT} was revoked", f"approve it: {HOW}")


@pytest.mark.parametrize(("rows", "funds"), [([], "0"), ([{"status": 2}], "5")])
def test_only_an_agent_with_funds_and_without_any_approval_seems_to_be_a_master(rows: list[Any], funds: str) -> None:
    found, _ = examined(Answers(product_meta=META, agent=rows, wallet=[{"equity": funds}]))
    assert "master's key" not in found[2].text
    found, _ = examined(Answers(product_meta=META, agent=[], wallet=[{"equity": "1250.5"}]))
    assert found[2] == Finding(
        "agent", "fail", f"{AGENT} has 1,250.50 USDC, so this seems to be a master's key",
        "use it as master key (TOOLKIT_MASTER_KEY), and make an agent with toolkit.Wallet.create()",
    )  # fmt: skip


def test_what_cannot_be_looked_up_is_a_warning() -> None:
    down = httpx.ConnectError("no route")
    found, reached = examined(Answers(product_meta=META, agent=down, wallet=down))
    assert reached is True
    assert [(one.name, one.state) for one in found[2:]] == [("agent", "warn"), ("account", "warn")]
    assert found[2].text.startswith("its approval can't be looked up: ")
    assert found[3].text.startswith(f"{MASTER}: its balance can't be read: ")
    found, _ = examined(Answers(product_meta=META, agent=down), wallet=toolkit.Wallet(agent=AGENT_KEY))
    assert found[3].text.startswith("it can't be looked up: ")
    found, _ = examined(Answers(product_meta=META, agent=[]), wallet=toolkit.Wallet(agent=AGENT_KEY))
    assert (found[3].name, found[3].state) == ("account", "warn")
    assert found[3].advice == "set TOOLKIT_ACCOUNT to the master's address"


@pytest.mark.parametrize(
    ("environment", "advice"),
    [("testnet", "claim test funds with the master key: session.exchange.faucet_claim()"),
     ("mainnet", "deposit at least 10 USDC")],
)  # fmt: skip
@pytest.mark.parametrize("equity", ["0", "-1"])
def test_an_account_without_funds_has_advice(environment: str, advice: str, equity: str) -> None:
    rows = [{"equity": equity}]
    found, _ = examined(Answers(product_meta=META, wallet=rows, agent=[ACTIVE]), environment=environment)
    assert found[-1] == Finding("account", "warn", f"{MASTER} has no funds", advice)


def test_missing_keys_are_a_note_and_wrong_ones_a_failure() -> None:
    wallet, found = doctor.keys("A", "M", None, {"A": "", "OTHER": AGENT_KEY})
    assert wallet is None
    assert found == Finding(
        "keys", "note", "no key given: reading works, trading does not (locally a development wallet trades)",
        "make one with toolkit.Wallet.create().save_keyfile('agent.json'), then: doctor --keyfile agent.json "
        "(or --keyring NAME, or the environment variables A and M)",
    )  # fmt: skip
    for variables, text in (
        ({"A": AGENT_KEY}, f"agent {AGENT}"), ({"M": MASTER_KEY}, f"master {MASTER}"),
        ({"A": AGENT_KEY, "M": MASTER_KEY}, f"agent {AGENT}, master {MASTER}"),
    ):  # fmt: skip
        wallet, found = doctor.keys("A", "M", None, variables)
        assert wallet is not None
        assert found == Finding("keys", "ok", text)
    _, found = doctor.keys("A", "M", None, {"A": "0x" + "zz" * 32})
    assert (found.state, found.advice) == ("fail", "put 64 hex digits, with or without 0x, into that variable")
    _, found = doctor.keys("A", "M", None, {"A": MASTER})
    assert found.advice == "that is an address, which is public. Put in the key that belongs to it, 64 hex digits"
    _, found = doctor.keys("A", "M", "no address", {"A": AGENT_KEY})
    assert found.advice == "put the master's address into TOOLKIT_ACCOUNT (or --account), never a key"


def test_a_kept_key_is_shown_by_its_address_and_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    made = toolkit.Wallet(agent=AGENT_KEY)
    monkeypatch.setattr(toolkit.Wallet, "from_keyfile", lambda path, account=None: made)
    monkeypatch.setattr(toolkit.Wallet, "from_keyring", lambda name, account=None: made)
    assert doctor.kept_key(Path("a"), None, None) == (made, Finding("keys", "ok", f"agent {AGENT}, from a"))
    assert doctor.kept_key(None, "a", None) == (made, Finding("keys", "ok", f"agent {AGENT}, from the keyring"))


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        ("bad", "Wallet.save_keyfile and save_keyring write what is read here"),
        ("there is no terminal", "run it in a terminal. Where there is none, put the agent key into TOOLKIT_AGENT_KEY"),
        ("NoKeyringError", "this system has no keyring: keep the key in an encrypted file, and give --keyfile FILE"),
    ],
)
def test_a_kept_key_that_cannot_be_read_has_advice(error: str, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **given: Any) -> Any:
        raise errors.WalletError(error)

    monkeypatch.setattr(toolkit.Wallet, "from_keyfile", fail)
    assert doctor.kept_key(Path("a"), "mine", None) == (None, Finding("keys", "fail", error, advice))


SIGNING = "eth-account" if doctor.has_eth_account() else "eth-keyfile"
NAMES = (*doctor.PACKAGES, SIGNING, *doctor.OPTIONAL)


def versions_without(*missing: str, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    def version(name: str) -> str:
        if name in missing:
            raise importlib.metadata.PackageNotFoundError(name)
        return "9999.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    return [one for one in doctor.versions() if one.name not in ("python", "eth-account")]


def test_versions_of_toolkit_interface_python_and_packages_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    python = f"Python {platform.python_version()} on {platform.system()}"
    packages = ", ".join(f"{name} 9999.0" for name in NAMES)
    assert versions_without(monkeypatch=monkeypatch) == [
        Finding("versions", "ok", f"toolkit {toolkit.__version__}, interface 1.0.0, {python}, {packages}")
    ]


def test_missing_packages_are_a_failure_and_missing_extras_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *found = versions_without("pandas", "protobuf", "matplotlib", "pyarrow", monkeypatch=monkeypatch)
    assert first.text.endswith(", ".join(f"{name} 9999.0" for name in NAMES if name not in (
        "pandas", "protobuf", "matplotlib", "pyarrow")))  # fmt: skip
    assert found == [
        Finding(
            "extras", "note", "installed without data,notebook. Functions that need them say so",
            f"for widgets and plots (notebook) or Parquet files (data): {install_line('notebook', 'data')}",
        ),
        Finding(
            "packages", "fail", "not installed: pandas, protobuf",
            f"install the toolkit again in this Python: {install_line()}",
        ),
    ]  # fmt: skip


REQUIRED = [
    "alpha>=2.1", "beta>=1.0; extra == 'data'", "gamma>=1; python_version < '3.0'", "delta>=1; python_version >= '3.0'",
    "epsilon==5", "zeta>=9; extra == 'test'", "eta>=9; extra == 'docs'", "missing>=1", "matplotlib>=3; extra == 'lab'",
    "theta>=1; python_version < '4.0'", "iota>=1; python_version >= '4.0'",
]  # fmt: skip


def test_too_old_packages_are_those_of_this_python_and_of_users_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "missing":
            raise importlib.metadata.PackageNotFoundError(name)
        return "0.9"

    monkeypatch.setattr(importlib.metadata, "requires", lambda name: REQUIRED)
    monkeypatch.setattr(importlib.metadata, "version", version)
    assert list(doctor.outdated()) == [
        ("alpha", "0.9", "2.1", ""), ("beta", "0.9", "1.0", "data"), ("delta", "0.9", "1", ""),
        ("matplotlib", "0.9", "3", "notebook"), ("theta", "0.9", "1", ""),
    ]  # fmt: skip
    monkeypatch.setattr(importlib.metadata, "version", lambda name: {"alpha": "2.1"}.get(name, "99"))
    assert list(doctor.outdated()) == []

    def gone(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", gone)
    assert list(doctor.outdated()) == []


STATES = [
    Finding("a", "ok", "fine", "unused"),
    Finding("b", "note", "noted", "unused"),
    Finding("longer-name", "warn", "careful", "do this"),
    Finding("d", "fail", "broken", "do that"),
    Finding("e", "warn", "no advice"),
]
READY = "trade: python -m toolkit quickstart shows how, python -m toolkit lab opens the walkthroughs"


@pytest.mark.parametrize("broken", [True, False])
def test_findings_are_a_list_and_the_steps_are_numbered(
    broken: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    states = [one for one in STATES if broken or one.state != "fail"]
    monkeypatch.setattr(doctor, "versions", lambda: iter(states[:-1]))
    monkeypatch.setattr(doctor, "folders", lambda: iter(()))
    monkeypatch.setattr(doctor, "keys", lambda *given: (None, states[-1]))
    monkeypatch.setattr(doctor, "examine", lambda *given: iter(()))
    assert main(["doctor"]) == (1 if broken else 0)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "  ok    a            fine",
        "  note  b            noted",
        "  WARN  longer-name  careful",
        *(["  FAIL  d            broken"] if broken else []),
        "  WARN  e            no advice",
        "",
        "Next steps",
        "  1. longer-name: do this",
        "  2. d: do that" if broken else f"  2. {READY}",
    ]
