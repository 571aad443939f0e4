"""A class that is killed at any moment comes back as it was: ranks, held time, news, links, save points, token."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from toolkit import errors

Links = dict[str, str]


@contextmanager
def served(journal: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], toolkit.Session, Links]]:
    """Run `toolkit class` with a journal. Give its process, the session of the teacher and the links."""
    line = [sys.executable, "-m", "toolkit", "class", "--names", str(journal.with_name("names")), "--port", "0"]
    options = ["--journal", str(journal), "--speed", "20", "--start", "2026-01-01T00:00:00Z", *more]
    with subprocess.Popen([*line, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            text = ""
            for read in process.stdout or ():
                text += read
                if read == "ready\n":
                    break
            links = dict(re.findall(r'^(\w+)\ttoolkit\.join\("(.*)"\)$', text, re.MULTILINE))
            [(base, token)] = re.findall(r"^teacher +(http.*)/class/teacher#token=(.*)$", text, re.MULTILINE)
            with toolkit.connect("local", base_url=base, control_token=token, plain_http=True) as teacher:
                yield process, teacher, links
        finally:
            process.kill()


def known(teacher: toolkit.Session) -> dict[str, Any]:
    """Return what must be the same afterwards, once time is held."""
    control = teacher.venue.control
    rows = [
        {name: row[name] for name in ("rank", "name", "equity", "return", "classmates")}
        for row in control.leaderboard()
    ]
    base = teacher.environment.base_url
    return {
        "rows": rows, "status": control.status(), "seats": [(row["link"], row["frozen"]) for row in control.seats()],
        "who": control.who(), "about": control.about(),
        "news": httpx.get(f"{base}/class/board.json").json()["data"]["news"],
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_killed_class_comes_back_with_ranks_held_time_news_links_and_token(tmp_path: Path, seed: int) -> None:
    (tmp_path / "names").write_text("Ann\nBo\nCyd\n", encoding="utf-8")
    chance, journal, before = random.Random(seed), tmp_path / "class.journal", {}
    token = points = None
    for _ in range(4):
        with served(journal) as (process, teacher, links):
            control = teacher.venue.control
            if before:
                assert known(teacher) == before["known"]
                assert before["token"] == token
            token = (tmp_path / "class.journal.token").read_text(encoding="utf-8")
            if points:
                control.back_to(points)
            control.go_on()
            with toolkit.join(links["Ann"]) as ann, toolkit.join(links["Bo"]) as bo:
                ann.buy("BTCUSDC", "0.02")
                bo.sell("BTCUSDC", "0.03")
            control.say(f"news {chance.random()}")
            points = control.save_point()
            control.freeze_student("Cyd", "late")
            if chance.random() < 0.5:
                control.reset("Ann")
            if chance.random() < 0.5:
                control.new_link("Bo")
            control.end_in(600)
            control.hold_time()
            before = {"known": known(teacher), "token": token}
            if chance.random() < 0.5:
                _kill_within(process, teacher, chance.randrange(3))
                with served(journal) as (_, again, _):  # whatever came of it, a second kill changes nothing
                    before = {"known": known(again), "token": token}
            process.kill()


def _kill_within(process: subprocess.Popen[str], teacher: toolkit.Session, done: int) -> None:
    """Kill a class while its teacher resets the students again and again, after some resets."""
    reached = threading.Event()

    def reset() -> None:
        with suppress(errors.ToolkitError):
            for number in range(100):
                if number == done:
                    reached.set()
                teacher.venue.control.reset()

    busy = threading.Thread(target=reset, daemon=True)
    busy.start()
    assert reached.wait(30)
    process.kill()
    busy.join(30)
