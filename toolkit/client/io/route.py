"""The way out of this machine: proxy, certificates and encryption, by one rule for queries and the feed.

The rule reads the variables that curl reads. `https_proxy` is for https:// and wss://, `http_proxy` for http:// and
ws://, and `all_proxy` for both where the other is not set. In lower case they win over upper case. `no_proxy` lists
hosts that are reached directly, and this machine always is.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from ...errors import NotSent
from ...extras import EXTRAS, install_line

PROXIES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
"""Variables that name a proxy."""
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
SOCKS = {"socksio": "socksio", "python-socks": "python_socks"}
"""Packages for SOCKS proxies → their import names. httpx needs the one, websockets the other."""
SECURE = ("https", "wss")
CERT_FILE, CERT_DIR, KEY_LOG = "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"
NO_PROXY = "NO_PROXY"
_DEFAULT_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}


def is_loopback(url: str) -> bool:
    """Return whether a URL names this machine. Proxies are not used for it.

    Parameters
    ----------
    url : str
        Address of a venue.
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    address = _ip(host)
    return host.rstrip(".") == "localhost" if address is None else address.is_loopback


@dataclass(frozen=True)
class Route:
    """How one address is reached. Made by `Route.to`.

    Attributes
    ----------
    url : str
        The address.
    proxy : str or None
        Address of the proxy, which may hold a password, None for a direct connection.
    variable : str
        Name of the variable that the proxy is from, "" for the settings of the system.
    trusted : tuple of str
        Name and value of the variable that names certificates, () for certifi's.
    """

    url: str
    proxy: str | None = field(default=None, repr=False)
    variable: str = ""
    trusted: tuple[str, ...] = ()

    @classmethod
    def to(cls, url: str, variables: Mapping[str, str] | None = None) -> Route:
        """Return the route to an address, by the proxy variables.

        Parameters
        ----------
        url : str
            Address of requests, or of the feed.
        variables : mapping of str to str, optional
            Environment variables (default: those of the process, and the proxies that Windows or macOS are set to).

        Raises
        ------
        NotSent
            For a proxy that can't be used. The message names the variable and the remedy.

        Examples
        --------
        >>> Route.to("wss://venue.example/ws", {"ALL_PROXY": "http://10.0.0.1:3128", "NO_PROXY": "10.0.0.0/8"}).proxy
        'http://10.0.0.1:3128'
        """
        place = urlsplit(url)
        given = os.environ if variables is None else variables
        trusted = next(((name, given[name]) for name in (CERT_FILE, CERT_DIR) if given.get(name)), ())
        if is_loopback(url):
            return cls(url, trusted=trusted)
        found = _proxy_in(given, "https" if place.scheme in SECURE else "http")
        if found is None and variables is None:
            found = _proxy_of_system(place)
        if found is None or _is_direct(place, _value(given, NO_PROXY)[1]):
            return cls(url, trusted=trusted)
        return cls(url, _checked_proxy(*found, place.hostname or ""), found[0], trusted)

    @property
    def described(self) -> str:
        """The route in words, without the password of a proxy."""
        if self.proxy is None:
            return "directly"
        return f"through {without_password(self.proxy)} ({self.variable or 'the settings of this system'})"

    @cached_property
    def certificates(self) -> ssl.SSLContext:
        """What certificates are verified with: the file of SSL_CERT_FILE, the folder of SSL_CERT_DIR, else certifi's.

        Raises
        ------
        NotSent
            Where they can't be read. The message names the variable and the remedy.
        """
        if not any(urlsplit(each).scheme in SECURE for each in (self.url, self.proxy or "")):
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used. Loading the roots takes 20 ms
        return _certificates(*self.trusted)


def without_password(url: str) -> str:
    """Return an address without its user and password.

    Parameters
    ----------
    url : str
        Address of a proxy.
    """
    place = urlsplit(url)
    return place._replace(netloc=place.netloc.rpartition("@")[2]).geturl()


def _certificates(name: str = "", path: str = "") -> ssl.SSLContext:
    """Return a context that trusts the certificates of a variable, else certifi's. `ssl` itself reads SSLKEYLOGFILE."""
    log = os.environ.get(KEY_LOG)
    try:
        if name == CERT_DIR:
            os.listdir(path)  # OpenSSL takes a missing folder, and then trusts nothing
            made = ssl.create_default_context(capath=path)
        elif name == CERT_FILE:
            made = ssl.create_default_context(cafile=path)
        else:
            import httpx

            made = httpx.create_ssl_context(trust_env=False)  # certifi's
    except (OSError, ValueError) as error:
        if log and not _can_append(log):
            what, remedy = f"{KEY_LOG} is {log}, which can't be written", "Unset it, or name a file that can be written"
        else:
            what = f"{name or 'the package certifi'} is {path}, which can't be read as certificates"
            remedy = f"Unset it, or name a {'folder of PEM files' if name == CERT_DIR else 'PEM file'}"
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise NotSent(f"nothing was sent: {what} ({why}). {remedy}") from None
    return made


def _can_append(path: str) -> bool:
    try:
        with open(path, "a", encoding="utf-8"):
            return True
    except OSError:
        return False


def _value(variables: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return a variable's name as it is set, and its value. Lower case wins, and an empty one is not set."""
    for written in (name.lower(), name.upper()):
        # The server of a CGI script sets HTTP_PROXY from the header "Proxy" of whoever asks it.
        if written in variables and not (written == "HTTP_PROXY" and "REQUEST_METHOD" in variables):
            return written, variables[written].strip()
    return name, ""


def _proxy_in(variables: Mapping[str, str], kind: str) -> tuple[str, str] | None:
    for name in (f"{kind}_proxy", "all_proxy"):
        written, value = _value(variables, name)
        if value:
            return written, value
    return None


def _proxy_of_system(place: SplitResult) -> tuple[str, str] | None:
    """Return the proxy that Windows or macOS is set to. Elsewhere, or with a variable set, there is none."""
    if any(os.environ.get(name) for name in PROXIES):
        return None
    found = getproxies().get("https" if place.scheme in SECURE else "http")
    return None if not found or proxy_bypass(place.hostname or "") else ("", found)


def _checked_proxy(variable: str, value: str, host: str) -> str:
    """Return a proxy's address. Raises NotSent, without showing a password."""
    url = value if "://" in value else f"http://{value}"
    wrong = ""
    try:
        place = urlsplit(url)
        port = place.port
        url.encode("utf-8")
    except UnicodeError:
        wrong = f"has bytes that are no text: {without_password(url)!a}"
    except ValueError:
        wrong = "is not an address"
    else:
        shown = without_password(url)
        if place.scheme not in PROXY_SCHEMES:
            wrong = f"is {shown}. Proxies are {', '.join(f'{scheme}://' for scheme in PROXY_SCHEMES)}"
        elif not place.hostname or port == 0 or place.path.strip("/") or place.query or re.search(r"\s", url):
            wrong = "is not an address of a proxy, such as http://10.0.0.1:3128"
        elif place.scheme.startswith("socks") and not all(map(find_spec, SOCKS.values())):
            wrong = f"is {shown}, and SOCKS proxies need {' and '.join(SOCKS)}: {install_line(EXTRAS['socksio'][0])}"
    if wrong:
        named = variable or "the proxy of this system"
        remedy = f"Correct or unset it, or add {host} to {NO_PROXY} for a direct connection"
        raise NotSent(f"nothing was sent: {named} {wrong}. {remedy}")
    return url


def _is_direct(place: SplitResult, listed: str) -> bool:
    """Return whether NO_PROXY lists a host: by "*", its name or a parent's, its address or a network of addresses."""
    host = (place.hostname or "").rstrip(".")
    port, address = place.port or _DEFAULT_PORTS.get(place.scheme), _ip(host)
    for entry in re.split(r"[,\s]+", listed.lower()):
        entry = entry.rpartition("://")[2]
        if entry == "*":
            return True
        if address is not None and (network := _network(entry)) is not None:
            if address in network:
                return True
            continue
        name, given_port = entry, ""
        if ported := re.fullmatch(r"(\[[^]]*\]|[^:]*):(\d+)", entry):
            name, given_port = ported[1], ported[2]
        if not name or (given_port and int(given_port) != port):
            continue
        if address is not None:
            if (network := _network(name)) is not None and address in network:
                return True
            continue
        name = name.removeprefix("*").strip(".")
        if name and (host == name or host.endswith(f".{name}")):
            return True
    return False


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return an address or a network, "[fd00::]/8" and "[::1]" too, None for another text."""
    try:
        return ipaddress.ip_network(re.sub(r"^\[([^]]*)\](/\d+)?$", r"\1\2", text), strict=False)
    except ValueError:
        return None
