"""The page of `toolkit runs page`: the table of the runs on loopback, to read only.

It shows no key and no address. Names and texts of runs are escaped. Requests that name another host
are refused, as a page elsewhere could otherwise read it through the browser.
"""

from __future__ import annotations

from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ...research.live_trading.attached import runs

REFRESH_S = 5
"""Time after which a browser loads the page again."""
_STYLE = "body{font:15px system-ui;margin:2em}td,th{padding:4px 12px;text-align:left;border-bottom:1px solid #8884}"
_HOSTS = ("127.0.0.1", "localhost", "[::1]")


def html() -> str:
    """Return the page as it is now."""
    table = runs()
    shown = table.drop(columns=["account", "strategy", "equity", "pid"]).reset_index()
    head = "".join(f"<th>{escape(str(name))}</th>" for name in shown.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(_text(value))}</td>' for value in row)}</tr>"
                   for row in shown.itertuples(index=False, name=None))  # fmt: skip
    body = f"<table><tr>{head}</tr>{rows}</table>" if rows else "<p>No run has a name on this machine.</p>"
    top = f'<meta charset="utf-8"><meta http-equiv="refresh" content="{REFRESH_S}"><style>{_STYLE}</style>'
    return f"<!doctype html>{top}<title>Runs</title><h1>Runs</h1>{body}"


def _text(value: object) -> str:
    if value != value:  # NaN and NaT
        return ""
    return f"{value:,.2f}" if isinstance(value, float) else str(value)[:200]


class _Page(BaseHTTPRequestHandler):
    """Answers GET / and nothing else."""

    def do_GET(self) -> None:
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if host not in _HOSTS:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        elif self.path != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            raw = html().encode()
            self.send_response(HTTPStatus.OK)
            for name, value in (
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Length", str(len(raw))),
                ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
                ("Cache-Control", "no-store"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a page that is open asks every few seconds.

        Parameters
        ----------
        format : str
            Text with places for the arguments.
        *args : object
            The arguments.
        """


def page_server(port: int) -> ThreadingHTTPServer:
    """Return a server of the page on loopback, which `serve_forever()` starts.

    Parameters
    ----------
    port : int
        Port, 0 for a free one.
    """
    return ThreadingHTTPServer(("127.0.0.1", port), _Page)
