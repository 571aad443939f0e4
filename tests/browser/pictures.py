"""Pictures of the widgets, to be looked at: `python -m tests.browser.pictures FOLDER`.

Dashboard, ticket, review, chart with orders and blotter, in light and dark, at two widths; and `--readme`, the two
pictures of the README in their places.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import toolkit
from tests.browser.conftest import FLAGS, chromium
from tests.browser.host import Host, hosting
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTHS = (640, 1500)
IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"


def near(session: Session, factor: str) -> str:
    """Return a price near the mark price, in whole ticks."""
    mark = session.stream.ticker("BTCUSDC").value["mark_price"]
    return format(session.product("BTCUSDC").round_price(mark * Decimal(factor), "nearest"), "f")


def trade(session: Session, venue: LocalVenue) -> None:
    """Do what fills every table: fills, positions, exits, open orders, a TWAP under way."""
    venue.advance("30m")
    session.buy("BTCUSDC", "0.05", tp=near(session, "1.02"), sl=near(session, "0.99"))
    venue.advance("3m")
    session.sell("BTCUSDC", "0.02")
    session.sell("ETHUSDC", "2")
    session.buy("BTCUSDC", "0.2", price=near(session, "0.9985"))
    session.sell("BTCUSDC", "0.1", price=near(session, "1.002"))
    session.twap("BTCUSDC", "BUY", "0.03", "20m", slices=11)
    venue.advance("6m")


def class_pages(browser: Browser, folder: Path) -> None:
    """Take pictures of the pages of a class of eight, on a projector and on a phone."""
    names = ["Ada", "Ben", "Chiara", "Deniz", "Emil", "Fatma", "Goran", "Hana"]
    with toolkit.class_room(names, seed="5eed" * 8, held=True, port=8645) as room:
        for number, name in enumerate(names[:-1]):
            side = "buy" if number % 3 else "sell"
            getattr(room.join(name), side)("BTCUSDC", f"{0.02 + number / 100:.2f}")
        room.say("Rates are decided at noon")
        room.teacher.venue.advance("40m")
        room.jump("BTCUSDC", "-2", "A large holder sells")
        room.teacher.venue.advance("5m")
        room.freeze_student("Goran", "two machines")
        room.end_in(45)
        for page, address in (("board", room.board_url), ("teacher", room.teacher_url)):
            for place, (width, height) in {"projector": (1920, 1080), "phone": (390, 844)}.items():
                shown = browser.new_page(viewport={"width": width, "height": height})
                shown.goto(address)
                shown.wait_for_selector("tbody tr")
                shown.screenshot(path=folder / f"class-{page}-{place}.png")
                shown.close()


def widgets(session: Session, venue: LocalVenue) -> dict[str, Any]:
    """Return the widgets by name of their picture."""
    trade(session, venue)
    wrong = session.ticket("BTCUSDC", price=near(session, "0.995") + "5", quantity="0,03")
    review = session.ticket("BTCUSDC", order_type="MARKET", quantity="0.05")
    review.take_profit, review.stop_loss = near(session, "1.02"), near(session, "0.99")
    review.submit()
    ladder = {"price": near(session, "0.999"), "last_price": near(session, "0.995"), "quantity": "0.05"}
    return {
        "dashboard": session.dashboard("BTCUSDC"),
        "ticket": wrong,
        "ticket-scale": session.ticket("BTCUSDC", order_type="SCALE", **ladder),
        "ticket-twap": session.ticket("BTCUSDC", order_type="TWAP", quantity="0.05", count="31"),
        "ticket-stop": session.ticket("BTCUSDC", order_type="STOP", side="SELL", trigger_price=near(session, "0.98")),
        "review": review,
        "chart": toolkit.widgets.Candles(session, "BTCUSDC", indicators=["EMA 20", "RSI 14"]),
        "blotter": toolkit.widgets.Blotter(session),
        "depth": toolkit.widgets.Depth(session, "BTCUSDC"),
        "funding": toolkit.widgets.Funding(session, "BTCUSDC"),
        "liquidation": toolkit.widgets.LiquidationMap(session),
    }


def take(browser: Browser, host: Host, shown: list[Any], path: Path, theme: str, width: int) -> None:
    """Take a picture of widgets beside each other."""
    host.show(*shown)
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(f"{host.url}?theme={theme}")
    page.wait_for_selector("body[data-ready]")
    if len(shown) > 1:
        page.add_style_tag(
            content="main { display: flex; gap: 28px; align-items: flex-start; } .view { width: 420px; }"
        )
    page.wait_for_function("[...document.querySelectorAll('.tk-status')].every((one) => one.textContent === 'live')")
    page.wait_for_timeout(1_000)
    page.locator("main").screenshot(path=path)
    page.close()


def smaller(path: Path, height: int) -> None:
    """Keep the top, and the 128 colours that a picture uses most: a third of its size, and no difference to see."""
    from PIL import Image

    with Image.open(path) as picture:
        top = picture.crop((0, 0, picture.width, min(height, picture.height)))
        top.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readme", action="store_true", help="renew the README's pictures, and no others")
    parser.add_argument("--class", action="store_true", dest="pages", help="take the pages of a class, and no others")
    parser.add_argument("names", nargs="*", help="pictures to take (default: all)")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    from playwright.sync_api import sync_playwright

    with ExitStack() as stack:
        if given.pages:
            browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=chromium(), args=FLAGS)
            class_pages(browser, given.folder)
            for path in given.folder.glob("class-*.png"):
                smaller(path, 1080)
            return
        venue = stack.enter_context(LocalVenue(clock="manual"))
        session = stack.enter_context(toolkit.connect(venue=venue))
        host = stack.enter_context(hosting())
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=chromium(), args=FLAGS)
        made = widgets(session, venue)
        if given.readme:
            filled = session.ticket("BTCUSDC", order_type="MARKET", quantity="0.05")
            filled.submit()
            filled.confirm()
            take(browser, host, [made["dashboard"]], IMAGES / "dashboard.png", "dark", 1320)
            take(browser, host, [made["ticket"], made["review"], filled], IMAGES / "ticket.png", "light", 1410)
            for name, height in (("dashboard", 1031), ("ticket", 2000)):  # the dashboard to its open orders
                smaller(IMAGES / f"{name}.png", height)
            return
        for name in given.names or made:
            for theme in ("light", "dark"):
                for width in WIDTHS:
                    take(browser, host, [made[name]], given.folder / f"{name}-{theme}-{width}.png", theme, width)


if __name__ == "__main__":
    main()
