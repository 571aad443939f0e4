"""A page of another origin attacks a served venue from a real browser; the pages of a class work in one."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import toolkit
from tests.browser.conftest import FLAGS, chromium
from tests.browser.host import Host, expect, hosting
from toolkit.classroom.class_routes import serving
from toolkit.classroom.lesson import Lesson
from toolkit.classroom.roster import Roster
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.boundary import ServeSettings
from toolkit.venue.served.server import Served
from toolkit.widgets.panels import leaderboard

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ATTACK = """async ([base, feed]) => {
  const tried = {};
  const attempt = async (name, work) => {
    try { tried[name] = await work(); } catch (error) { tried[name] = "blocked: " + error.name; }
  };
  const post = (path, type, body) => fetch(base + path, { method: "POST", body,
    mode: type === "json" ? "cors" : "no-cors",
    headers: type === "json" ? { "content-type": "application/json" } : { "content-type": "text/plain" } });
  await attempt("read", async () => (await fetch(base + "/info/public/product-meta")).status);
  await attempt("control json", async () => (await post("/control/advance", "json", '{"span":"1h"}')).status);
  await attempt("control text", async () => (await post("/control/advance", "text", '{"span":"1h"}')).type);
  await attempt("control blob", async () => (await fetch(base + "/control/advance",
    { method: "POST", mode: "no-cors", body: new Blob(['{"span":"1h"}']) })).type);
  await attempt("form", async () => {
    const form = document.createElement("form"), frame = document.createElement("iframe");
    frame.name = "target"; document.body.append(frame);
    Object.assign(form, { action: base + "/control/advance", method: "POST", target: "target", enctype: "text/plain" });
    document.body.append(form);
    const loaded = new Promise((done) => frame.addEventListener("load", done, { once: true }));
    form.submit();
    await loaded;
    return "sent";
  });
  await attempt("image", () => new Promise((done) => {
    const image = new Image();
    image.onload = () => done("loaded"); image.onerror = () => done("blocked");
    image.src = base + "/health";
  }));
  const opened = () => new Promise((done) => {
    const socket = new WebSocket(feed);
    socket.onopen = () => done("open"); socket.onclose = () => done("closed");
  });
  tried.sockets = [];
  for (let at = 0; at < 12; at++) tried.sockets.push(await opened());
  return tried;
}"""


class Foreign(http.server.BaseHTTPRequestHandler):
    """An empty page of another origin."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(5)


@pytest.fixture
def host() -> Iterator[Host]:
    """A page for the widgets that the test makes."""
    with hosting() as made:
        yield made


@pytest.fixture
def served() -> Iterator[Served]:
    with LocalVenue(clock="manual", market=False, accounts=2) as venue, venue.serve(control=True) as made:
        yield made


def test_a_page_of_another_origin_reads_and_moves_nothing(browser: Browser, served: Served, elsewhere: str) -> None:
    venue = served.venue
    before = venue.now_ms()
    context = browser.new_context()
    page = context.new_page()
    page.goto(elsewhere)
    tried = page.evaluate(ATTACK, [served.base_url, f"{served.ws_url}/ws/dex"])
    context.close()
    assert tried["read"].startswith("blocked")
    assert tried["control json"].startswith("blocked")
    assert tried["control text"] == tried["control blob"] == "opaque"  # sent, and answered 403 unseen
    assert tried["image"] == "blocked"
    assert tried["sockets"] == ["closed"] * 12
    assert venue.now_ms() == before
    with toolkit.connect("local", base_url=served.base_url) as session:  # the user is not locked out
        session.stream.order_book("BTCUSDC").wait(lambda live: live.state == "live", timeout=10)


REBOUND = """async (token) => {
  const headers = { "content-type": "application/json", authorization: "Bearer " + token };
  const tried = [(await fetch("/control")).status];
  for (const path of ["/control/advance", "/api/v1/exchange", "/join/x"]) {
    tried.push((await fetch(path, { method: "POST", headers, body: '{"span":"1h"}' })).status);
  }
  tried.push(await new Promise((done) => {
    const socket = new WebSocket("ws://" + location.host + "/ws/dex");
    socket.onopen = () => done("open"); socket.onclose = () => done("closed");
  }));
  return tried;
}"""


def test_under_a_rebound_name_a_page_reads_and_moves_nothing(browser: Browser, served: Served) -> None:
    """The page is same-origin then, so the name is all that tells it from the venue's own; even the token is no use."""
    before = served.venue.now_ms()
    rules = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    rebound = browser.browser_type.launch(executable_path=chromium(), args=[*FLAGS, rules])
    try:
        page = rebound.new_page()
        answer = page.goto(f"http://evil.example:{served.port}/info/public/product-meta")
        assert answer is not None
        assert answer.status == 403
        assert "perpProducts" not in page.content()
        assert page.evaluate(REBOUND, served.control_token) == [403, 403, 403, 403, "closed"]
    finally:
        rebound.close()
    assert served.venue.now_ms() == before


def test_the_pages_of_a_class_work_in_a_browser(page: Page) -> None:
    lesson = Lesson.create(Roster.create(["Ann", "<i>Bo</i>"]), market=False)
    lesson.venues[0].control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
    try:
        with serving(lesson, 0, settings=ServeSettings()) as served:
            link = f"{served.base_url}/join/{lesson.roster.students[1].code}"
            page.goto(link)
            expect(page.locator("h1")).to_have_text("Welcome, <i>Bo</i>")
            expect(page.locator("#line")).to_contain_text(f'toolkit.join("{link}")')
            with toolkit.join(link) as session:
                session.buy("BTCUSDC", "0.01", price="62600", tif="IOC")
            page.goto(f"{served.base_url}/class")
            page.locator("#rows tr").nth(1).wait_for()
            assert page.locator("#rows tr").first.inner_text().startswith("1\t<i>Bo</i>\t99")
            # Who never traded has no rank.
            assert page.locator("#rows tr").nth(1).inner_text().startswith("–\tAnn\t10000.00\t0.00 %")
            page.goto(f"{served.base_url}/class/teacher#token={served.control_token}")
            page.locator("#who tr").nth(1).wait_for()
            assert served.control_token not in page.url
            page.fill("#text", "Hello")
            page.get_by_role("button", name="Publish").click()
            page.get_by_text("Publish: done").wait_for()
            page.get_by_role("button", name="Pause").click()
            page.get_by_text("Pause: done").wait_for()
            page.get_by_role("button", name="Freeze trading").click()
            page.get_by_text("Freeze trading: done").wait_for()
            assert "placeOrder" in lesson.venues[0].host.core.state.laboratory.disabled
            page.fill("#student", "Ann")
            page.get_by_role("button", name="Fund").click()
            page.get_by_text('"balance":"11000"').wait_for()
            page.get_by_text("time is held, trading is frozen, 1 of 2 have joined").wait_for()
            page.get_by_role("button", name="Save point").click()
            page.get_by_text("Save point: done").wait_for()
            asked: list[str] = []
            page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.accept()))
            page.get_by_role("button", name="Back to it").click()
            page.get_by_text("Back to it: done").wait_for()
            page.fill("#student", "")
            page.get_by_role("button", name="Reset").click()
            page.get_by_text("Reset: done").wait_for()
            assert asked == ["Take the whole class back to save point 1?", "Reset everybody?"]
            page.goto(f"{served.base_url}/class")
            page.get_by_text("Hello").wait_for()
    finally:
        lesson.close()


def test_the_leaderboard_is_a_live_widget_in_the_teachers_session(
    page: Page, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard, "POLL_SECONDS", 0.1)
    lesson = Lesson.create(Roster.create(["Ann", "Bo <i>"]), market=False)
    lesson.venues[0].control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
    try:
        with serving(lesson, 0, settings=ServeSettings()) as served:
            teacher = toolkit.connect("local", base_url=served.base_url, control_token=served.control_token)
            host.show(toolkit.widgets.Leaderboard(teacher))
            page.goto(host.url)
            panel = page.get_by_role("region", name="Leaderboard")
            rows = panel.locator("tbody tr")
            rows.nth(1).wait_for()
            assert [rows.nth(0).locator("td").nth(at).inner_text() for at in range(4)] == [
                "–", "Ann", "10,000.00", "0.00 %",
            ]  # fmt: skip
            teacher.venue.control.say("<b>Rates</b> are decided")
            with toolkit.join(f"{served.base_url}/join/{lesson.roster.students[0].code}") as session:
                session.buy("BTCUSDC", "1", price="62600", tif="IOC")
            panel.get_by_text("<b>Rates</b> are decided").wait_for()
            expect(rows.nth(0).locator("td").nth(0)).to_have_text("1")
            expect(rows.nth(0).locator("td").nth(1)).to_have_text("Ann")
            expect(rows.nth(1).locator("td").nth(0)).to_have_text("–")
            panel.get_by_role("button", name="Copy students by return as CSV").wait_for()
            assert not [message for message in host.sent if served.control_token in str(message)]
            teacher.close()
            panel.locator(".tk-status", has_text="closed").wait_for()
    finally:
        lesson.close()
