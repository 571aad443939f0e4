"""Hand-ins that are no notebooks, and notebooks whose second cell attacks its grading: name → how it is made."""

# ruff: noqa: E501
from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

RIGHT = "answer = 6"
CHECKS = '''
def check_answer(work):
    """The answer of the first cell"""
    assert work.value("answer") == 6, f"the answer is {work.value('answer')}"

def check_odd(work):
    """The second cell leaves a number"""
    assert int(work.value("odd")) == 7, f"it is {work.value('odd')}"
'''


def book(*cells: str) -> str:
    written = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    return json.dumps({"cells": written, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 5 << 30)


def bound(path: Path) -> None:
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as one, contextlib.ExitStack() as stack:
        os.chdir(path.parent)  # the path of a socket has at most 107 bytes
        stack.callback(os.chdir, here)
        one.bind(path.name)


def linked_folder(path: Path) -> None:
    (path.parent.parent / "elsewhere").mkdir(exist_ok=True)
    (path.parent.parent / "elsewhere" / "right.ipynb").write_text(book(RIGHT), encoding="utf-8")
    path.symlink_to(path.parent.parent / "elsewhere")


def link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(path.parent.parent / target)


CONTENTS: dict[str, str | bytes] = {
    "empty": "",
    "brackets": "[" * 2_000_000,
    "brackets in cells": '{"cells": ' + "[" * 500_000,
    "braces": '{"a":' * 500_000,
    "deep metadata": '{"cells": [], "metadata": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "null": "null",
    "true": "true",
    "text": '"text"',
    "list": "[]",
    "object": "{}",
    "number": "1e400",
    "digits": "1" * 100_000,
    "infinity": "Infinity",
    "cells null": '{"cells": null}',
    "cells object": '{"cells": {"a": 1}}',
    "cells of nothing": '{"cells": [{}]}',
    "cells of null": '{"cells": [null]}',
    "cells of lists": '{"cells": [[["code"]]]}',
    "no source": '{"cells": [{"cell_type": "code"}]}',
    "source number": '{"cells": [{"cell_type": "code", "source": 1}]}',
    "source of numbers": '{"cells": [{"cell_type": "code", "source": [1, 2]}]}',
    "source of lists": '{"cells": [{"cell_type": "code", "source": [["x"]]}]}',
    "type number": '{"cells": [{"cell_type": 1, "source": ""}]}',
    "worksheets": '{"worksheets": [{"cells": []}], "nbformat": 3}',
    "no unicode": b'{"cells": [\xff\xfe\xfa]}',
    "zeros": b"\0" * 10_000,
    "cut": book(RIGHT)[:-30],
    "two": book(RIGHT) * 2,
    "large": book(RIGHT) + " " * (11 << 20),
    "many cells": book(*["pass"] * 1_001),
    "surrogate": '{"cells": [{"cell_type": "code", "source": "x = \'\\ud800\'"}]}',
    "no code": '{"cells": [{"cell_type": "markdown", "source": "text"}]}',
    "formula =HYPERLINK()": "",
    "=1+1": "",
    "escape \x1b[2J\x1b]0;title\x07": "",
    "line\nbreak": "",
    "right\u202eto left": "",
    "<script>alert(1)</script>".replace("/", "\\"): "",
    "n" * 240: "",
    "\x01": "",
    "\x02": "",
}
KINDS: dict[str, Callable[[Path], None]] = {
    "link out": link("outside.ipynb"),
    "link to nothing": link("nothing"),
    "link to itself": lambda path: path.symlink_to(path),
    "link to zeros": lambda path: path.symlink_to("/dev/zero"),
    "link to the checks": link("checks.py"),
    "pipe": lambda path: os.mkfifo(path),
    "socket": bound,
    "folder": Path.mkdir,
    "sparse": sparse,
    "linked folder": linked_folder,
    "not readable": lambda path: path.touch(0o000),
    "bytes \udcff\udcfe": Path.touch,
}
FORGED = """
kernel = get_ipython().kernel
def send(kind, content, parent=None):
    kernel.session.send(kernel.iopub_socket, kind, content, parent=parent or kernel.get_parent("shell"))
"""
DEEP = "deep = []\nfor _ in range(900): deep = [deep]\n"
CELLS: dict[str, str] = {
    "endless": "while True: pass",
    "endless in spite of interrupts": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "deaf to interrupts": "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
    "sleeps": "import time; time.sleep(1_000)",
    "waits for a program": "!sleep 1000",
    "leaves": "import os; os._exit(0)",
    "exits": "exit()",
    "raises SystemExit": "raise SystemExit(3)",
    "asks": "input()",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "kills itself": "import os; os.kill(os.getpid(), 9)",
    "kills its worker": "import os, time; os.kill(os.getppid(), 9); time.sleep(1)",
    "stops its worker": "import os, time; os.kill(os.getppid(), 19); time.sleep(1)",
    "kills everything": "import os; os.kill(-1, 9)",
    "memory": "held = []\nwhile True: held.append(bytearray(10_000_000))",
    "memory at once": "b = bytes(10 ** 13)",
    "memory of children": "import os\nfor _ in range(9):\n    if not os.fork():\n        b = bytearray(150_000_000)\n        while True: pass",
    "fork bomb": "import os\nwhile True: os.fork()",
    "threads": "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(1_000,)).start()",
    "a child that stays": "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(1_000)",
    "disk": "for number in range(100): open(f'f{number}', 'wb').write(bytes(10_000_000))",
    "files": "for number in range(10 ** 9): open(f'f{number}', 'w').close()",
    "open files": "held = [open('/dev/null') for _ in range(10 ** 6)]",
    "prints": "while True: print('x' * 10_000)",
    "writes to its outputs": "import os\nwhile True: os.write(1, b'x' * 10_000); os.write(2, b'x' * 10_000)",
    "no home": "import shutil; shutil.rmtree('/tmp', ignore_errors=True)",
    "closes its files": "import os; os.closerange(0, 1_000)",
    "forged messages": FORGED + "for c in ({}, [], None, 1, {'text': 5}, {'data': []}, {'data': {'text/plain': {}}}, {'ename': 1}):\n"
    "    for k in ('stream', 'display_data', 'error', 'status', 'execute_result', '', 'x' * 999): send(k, c)",
    "forged deep messages": FORGED + DEEP + "send('stream', {'text': deep}); send('display_data', {'data': deep})",
    "forged idle": FORGED + "send('status', {'execution_state': 'idle'})\nwhile True: pass",
    "forged bytes": "get_ipython().kernel.iopub_socket.send(b'x' * 10_000_000)",
    "forged values": FORGED + "for v in ([], {'odd': 1}, {'odd': '[' * 10 ** 6}): send('display_data', {'data': {'application/x-toolkit-values': v}})",
    "values of its own": "import toolkit.classroom.notebook_worker as w\n"
    "w.values = lambda *_: ({'answer': '6', 'odd': '[' * 900_000, 'x' * 10 ** 6: '1'}, {'odd': 'x' * 10 ** 6})",
    "values without kind": "import toolkit.classroom.notebook_worker as w\n"
    "w.written = lambda value, depth=0: value if value == 6 else {'a': 1, 'b': [{'decimal': {}}]}\nodd = 1",
    "no worker": "import sys; sys.modules['toolkit.classroom.notebook_worker'] = None",
    "no publisher": "get_ipython().display_pub.publish = lambda *_, **__: 1 / 0",
    "no json": "import json; json.dumps = None",
    "deep value": "odd = []\nfor _ in range(10_000): odd = [odd]",
    "itself": "odd = []; odd.append(odd)",
    "huge value": "odd = 'x' * 10 ** 8",
    "huge number": "odd = 10 ** 5_000",
    "huge exponent": "from decimal import Decimal; odd = Decimal('1e999999999')",
    "no number": "odd = float('nan')",
    "infinite": "odd = float('inf')",
    "a text": "odd = '\\x1b[2J\\u202e=1+1'",
    "a surrogate": "odd = '\\ud800'; print(odd)",
    "a liar": "class Odd(int):\n    def __str__(self): raise SystemExit\n    __repr__ = __str__\nodd = Odd(8)",
    "a frame that never ends": "class DataFrame:\n    def reset_index(self):\n        while True: pass\n    to_json = 1\nodd = DataFrame()",
    "an error with escapes": "raise ValueError('\\x1b[2J\\x1b]0;owned\\x07' + '=1+1<script>')",
    "an endless error": "raise ValueError('x' * 10 ** 7)",
    "an error that fails": "class E(Exception):\n    def __str__(self): raise E\nraise E",
    "an error without end": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    "recursion": "def f(): f()\nf()",
    "syntax": "(" * 10_000,
    "no syntax": "x = (",
}  # fmt: skip


def hand_in(folder: Path, contents: Mapping[str, str | bytes], kinds: Mapping[str, Callable[[Path], object]]) -> None:
    """Write hostile files into a folder, and what their links lead to beside it."""
    folder.mkdir(exist_ok=True)
    (folder.parent / "outside.ipynb").write_text(book(RIGHT, "odd = 7"), encoding="utf-8")
    for name, content in contents.items():
        raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        (folder / f"{name}.ipynb").write_bytes(raw)
    for name, make in kinds.items():
        make(folder / (name if name == "linked folder" else f"{name}.ipynb"))
