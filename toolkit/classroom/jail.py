"""The jail in which a student's code runs, made by the operating system: bubblewrap, or a container.

The jail has separate user, process, network, IPC and host namespaces, read-only binds of what Python needs, small tmpfs
folders, an emptied environment and no capability. A filter blocks the system calls that namespaces don't isolate:
memory that belongs to no process, keyrings, tracing. One bounded message goes in. Of the bounded messages that come out
the last whole one counts.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    import psutil

LARGEST_MESSAGE = 32 << 20
"""Largest report of a notebook, in bytes."""
PROCESSES = 200
FILES_MB, SHARED_MB = 256, 64
"""Size of the working folder and of /dev/shm, in MB."""
POLL_SECONDS = 0.2
PACKAGE = Path(__file__).resolve().parent.parent
REFUSED = (
    "grading runs students' code and finds no jail for it here{}. Install bubblewrap (apt install bubblewrap, or the "
    "same with dnf, pacman, zypper), or name an image with --container IMAGE. With --trust-students (trust_students="
    "True) the notebooks run as you, without any jail: they can read your files, keys and the checks, write, delete, "
    "and use the network"
)
_FORBIDDEN = (
    "and its trial fails: {}. Where the system forbids user namespaces, its administrator allows them with `sysctl "
    "-w kernel.unprivileged_userns_clone=1` (Debian), `sysctl -w user.max_user_namespaces=10000`, or on Ubuntu 24.04 "
    "an AppArmor profile for /usr/bin/bwrap. Bubblewrap 0.8 or later is needed"
)
# The program is process 1 of its namespace, which no process inside can kill or stop.
_OPTIONS = (
    "--unshare-user --unshare-all --disable-userns --die-with-parent --new-session --as-pid-1 --cap-drop ALL "
    "--uid 1000 --gid 1000 --hostname jail --clearenv"
)
_CONTAINER_OPTIONS = (
    "run --rm --interactive --network none --read-only --cap-drop ALL --security-opt no-new-privileges "
    "--user 1000:1000 --workdir /tmp"
)
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
_SITES = ("site-packages", "dist-packages")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "fonts", "alternatives", "mime.types")
_DATA = {
    "/etc/passwd": "student:x:1000:1000::/tmp/home:/bin/sh\n",
    "/etc/group": "student:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
}
_CALLS = {
    # machine: (AUDIT_ARCH, socket, memfd_create, memfd_secret, shmget, shmat, ptrace, process_vm_readv and _writev,
    # add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, io_uring_setup, _enter, _register, pidfd_getfd)
    "x86_64": (0xC000003E, 41, 319, 447, 29, 30, 101, 310, 311, 248, 249, 250, 321, 298, 323, 425, 426, 427, 438),
    "aarch64": (0xC00000B7, 198, 279, 447, 194, 196, 117, 270, 271, 217, 218, 219, 280, 241, 282, 425, 426, 427, 438),
}

_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK: each has a namespace."""


class Stopped(Exception):
    """A process was ended, or failed.

    Parameters
    ----------
    why : str
        Why, in words.
    left : bytes, optional
        Its last whole message (default: none).
    at_limit : bool, optional
        Whether it went beyond a limit (default: False).
    """

    def __init__(self, why: str, left: bytes = b"", *, at_limit: bool = False) -> None:
        super().__init__(why)
        self.left = left
        self.at_limit = at_limit


@dataclass(frozen=True, slots=True)
class Jail:
    """The program that runs a student's code.

    Attributes
    ----------
    program : str
        Bwrap, docker or podman, "" for none (trusted students).
    image : str
        Image of the container, "" without one.
    """

    program: str
    image: str = ""

    @classmethod
    def choose(cls, container: str = "", *, trust_students: bool = False) -> Jail:
        """Return the jail of this system.

        Raises InputError where there is none, unless students are trusted.

        Parameters
        ----------
        container : str, optional
            Image that has the toolkit with its extra `class` (default: none, bubblewrap is used).
        trust_students : bool, optional
            True returns no jail where there is no container (default: `False`).

        Raises
        ------
        InputError
            If there is no jail, unless students are trusted.
        """
        if container:
            program = shutil.which("docker") or shutil.which("podman")
            if not program:
                raise InputError("--container needs docker or podman, and neither is installed", field="container")
            return cls(program, container)
        if trust_students:
            return cls("")
        jail = cls(shutil.which("bwrap") or "")
        if not jail.program or not sys.platform.startswith("linux"):
            raise InputError(REFUSED.format(""), field="trust_students", rule="a jail")
        try:
            # A trial: a system can have bwrap and forbid what it needs. The first notebook would fail with an error
            # that no one understands.
            jail.exchange([sys.executable, "-c", "print()"], b"", seconds=30, memory_mb=500)
        except Stopped as stopped:
            raise InputError(REFUSED.format(f": bwrap is installed, {_FORBIDDEN.format(stopped)}")) from None
        return jail

    def exchange(self, command: Sequence[str], message: bytes, *, seconds: float, memory_mb: int) -> bytes:
        """Run a program inside, give it a message, and return its last message.

        Parameters
        ----------
        command : sequence of str
            Program and its arguments.
        message : bytes
            Bytes that the program reads from standard input.
        seconds : float
            Wall time of the program, in seconds.
        memory_mb : int
            Memory of all its processes, in MB.

        Raises
        ------
        Stopped
            At a limit, or if the program fails.
        """
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolkit-grade-")))
            if not self.program:
                own = {**_environment(str(folder)), "PATH": os.environ.get("PATH", "")}
                return exchange(command, message, own, seconds=seconds, memory_mb=memory_mb, cwd=folder)
            if self.image:
                name = folder.name
                # Ending the client leaves the container running, so it is ended by its name.
                stack.callback(subprocess.run, [self.program, "kill", name], capture_output=True, check=False)
                line = self.container(["python", *command[1:]], name, memory_mb)
                return exchange(line, message, os.environ, seconds=seconds, memory_mb=memory_mb)
            files = {path: stack.enter_context(_file(text.encode())) for path, text in _DATA.items()}
            calls = stack.enter_context(_file(system_call_filter(platform.machine())))
            line = self.bubblewrap(command, {path: file.fileno() for path, file in files.items()}, calls.fileno())
            handles = [file.fileno() for file in (*files.values(), calls)]
            return exchange(line, message, {}, seconds=seconds, memory_mb=memory_mb, handles=handles)

    def bubblewrap(self, command: Sequence[str], data: Mapping[str, int], calls: int) -> list[str]:
        """Return the command line of bwrap.

        Parameters
        ----------
        command : sequence of str
            Program and its arguments.
        data : mapping of str to int
            Path inside → descriptor of a small file.
        calls : int
            Descriptor of the filter of system calls.
        """
        line = [self.program, *_OPTIONS.split(), "--size", str(FILES_MB << 20), "--tmpfs", "/tmp", "--dir", "/tmp/work"]
        real = Path(os.path.realpath(sys.executable)).parent.parent
        python = [sys.prefix, sys.base_prefix, sys.exec_prefix, str(real)]
        # A virtual environment lies in a home folder, of which nothing else is bound.
        python += package_folders()
        for path in dict.fromkeys([*_SYSTEM, *(f"/etc/{name}" for name in _ETC), *python, str(PACKAGE)]):
            # `try`, because not every system has all of these folders.
            line += ["--ro-bind-try", path, path]
        for path, handle in data.items():
            line += ["--ro-bind-data", str(handle), path]
        line += ["--proc", "/proc", "--dev", "/dev", *_closed(), "--size", str(SHARED_MB << 20), "--tmpfs", "/dev/shm"]
        # Where the grader is root, its jail could write to /proc/sys.
        line += ["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp/work"]
        for name, value in _environment("/tmp").items():
            line += ["--setenv", name, value]
        return [*line, "--seccomp", str(calls), "--", *command]

    def container(self, command: Sequence[str], name: str, memory_mb: int) -> list[str]:
        """Return the command line of docker or podman.

        Parameters
        ----------
        command : sequence of str
            Program and its arguments.
        name : str
            Name of the container, by which it is ended.
        memory_mb : int
            Memory of all its processes, in MB.
        """
        limits = f"--pids-limit {PROCESSES} --memory {memory_mb}m --memory-swap {memory_mb}m --shm-size {SHARED_MB}m"
        files = ["--tmpfs", f"/tmp:rw,exec,mode=1777,size={FILES_MB}m", "--entrypoint", command[0]]
        line = [self.program, *_CONTAINER_OPTIONS.split(), *limits.split(), *files, "--name", name]
        for variable, value in _environment("/tmp").items():
            line += [] if variable in ("PATH", "PYTHONPATH") else ["--env", f"{variable}={value}"]
        return [*line, self.image, *command[1:]]


def exchange(
    command: Sequence[str],
    message: bytes,
    environment: Mapping[str, str],
    *,
    seconds: float,
    memory_mb: int,
    handles: Sequence[int] = (),
    cwd: Path | None = None,
) -> bytes:
    """Run a program, give it a message, and return its last message.

    A line feed ends each message. The limits are of time, memory and number of all its processes, and of a message.

    Parameters
    ----------
    command : sequence of str
        Program and its arguments.
    message : bytes
        Bytes that the program reads from standard input.
    environment : mapping of str to str
        Variables of the program, which gets no others.
    seconds : float
        Wall time of the program, in seconds.
    memory_mb : int
        Memory of all its processes, in MB.
    handles : sequence of int, optional
        Descriptors that it inherits (default: none).
    cwd : Path or None, optional
        Folder that it starts in (default: the present one).

    Raises
    ------
    Stopped
        At a limit, or if the program fails. The error has the last whole message.
    """
    # A file and not a pipe: a program that does not read its input would block the writer.
    with _file(message) as given:
        process = subprocess.Popen(
            command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environment), cwd=cwd,
            pass_fds=handles, start_new_session=os.name == "posix",
        )  # fmt: skip
    written, said = bytearray(), bytearray()
    # Both streams are read in threads, because a full pipe would stop the program.
    readers = [
        threading.Thread(target=_read, args=arguments, daemon=True)
        for arguments in ((process.stdout, written, False), (process.stderr, said, True))
    ]
    for reader in readers:
        reader.start()
    why, at_limit = "", False
    try:
        _watch(process, readers[0], time.monotonic() + seconds, memory_mb)
        if len(written) > LARGEST_MESSAGE:
            why, at_limit = f"it wrote more than {LARGEST_MESSAGE >> 20} MB", True
        # A last message without a line feed is not whole: the process ended while it wrote.
        elif process.wait(10) or not written.endswith(b"\n"):
            readers[1].join(1)
            last = said.decode(errors="replace").strip().splitlines()[-1:]
            why = f"the notebook's process ended with code {process.returncode} {' '.join(last)[:500]}".strip()
    except subprocess.TimeoutExpired:
        why = "its process did not end"
    except Stopped as stopped:
        why, at_limit = str(stopped), stopped.at_limit
    finally:
        # Also after a regular end: a process that was left behind would run on, outside of every limit.
        end_all(process.pid)
        process.wait(10)
        for reader in readers:
            reader.join(5)
    message = bytes(written.rpartition(b"\n")[0])
    if why:
        raise Stopped(why, message, at_limit=at_limit)
    return message


def _watch(process: subprocess.Popen[bytes], reader: threading.Thread, deadline: float, memory_mb: int) -> None:
    """Wait until the output has ended. Raises Stopped at a limit."""
    over = False
    while reader.is_alive():
        reader.join(POLL_SECONDS)
        # Looked at from outside, because a limit of the kernel on memory needs rights that a grader does not have.
        count, used_mb = use(process.pid)
        # The worker inside holds the same limits, and reports what is left at them. This is for one that can't, so it
        # waits for a second look where the first was not far above.
        before, over = over, used_mb > memory_mb * 1.5 + 200 or count > 2 * PROCESSES
        if over and (before or count > 10 * PROCESSES or used_mb > 3 * memory_mb):
            raise Stopped(f"it used more than {memory_mb} MB of memory or {PROCESSES} processes", at_limit=True)
        if time.monotonic() > deadline:
            raise Stopped("it ran longer than its time", at_limit=True)


def use(process: int, *, itself: bool = True) -> tuple[int, float]:
    """Return the number and memory (MB) of all processes below one.

    Parameters
    ----------
    process : int
        Id of the process.
    itself : bool, optional
        True counts that one as well (default: `True`).
    """
    import psutil

    used = []
    for each in _family(process, itself):
        with contextlib.suppress(psutil.Error):
            used.append(each.memory_info().rss)
    return len(used), sum(used) / 2**20


def end_all(process: int, *, itself: bool = True) -> None:
    """End all processes below one.

    Parameters
    ----------
    process : int
        Id of the process.
    itself : bool, optional
        True ends that one as well (default: `True`).
    """
    import psutil

    for each in _family(process, itself):
        with contextlib.suppress(psutil.Error):
            # SIGKILL, which can't be caught.
            each.kill()


def _family(process: int, itself: bool) -> list[psutil.Process]:
    import psutil

    try:
        parent = psutil.Process(process)
        below: list[psutil.Process] = parent.children(recursive=True)
        return [parent, *below] if itself else below
    except psutil.Error:
        return []


@contextlib.contextmanager
def _file(content: bytes) -> Iterator[IO[bytes]]:
    """Give an open temporary file without a name, at its beginning."""
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        yield file


def _read(stream: IO[bytes], kept: bytearray, last: bool) -> None:
    """Read a stream to its end, and keep its last whole message and what follows it, of at most LARGEST_MESSAGE.

    With `last` it reads everything and keeps the last bytes.
    """
    with stream:
        while len(kept) <= LARGEST_MESSAGE and (part := os.read(stream.fileno(), 1 << 16)):
            kept += part
            if last:
                del kept[:-10_000]
            elif b"\n" in part:
                del kept[: kept.rfind(b"\n", 0, kept.rfind(b"\n")) + 1]


def package_folders() -> list[str]:
    """Return the folders of this program's packages, also those of a user and of PYTHONPATH."""
    found = [path for path in sys.path if path and os.path.isdir(path)]
    return [each for each in found if Path(each).name in _SITES or any(Path(each).glob("*.dist-info"))]


def _closed() -> list[str]:
    """Return options that cover files of /proc that no namespace divides: they would tell of the grader."""
    return [part for path in ("/proc/keys", "/proc/key-users") for part in ("--ro-bind-try", "/dev/null", path)]


def _environment(folder: str) -> dict[str, str]:
    """Return the variables of the program: none of the grader's but what Python needs to run at all."""
    home = ("HOME", "USERPROFILE", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR", "TOOLKIT_STATE")
    single = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # notebooks run side by side
    # Folders of a user and of PYTHONPATH, which Python does not find with an emptied environment.
    prefixes = tuple({os.path.join(each, "") for each in (sys.prefix, sys.base_prefix)})
    packages = [str(PACKAGE.parent), *(each for each in package_folders() if not each.startswith(prefixes))]
    fixed = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    fixed["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(packages))
    fixed |= {"PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "agg"}
    fixed |= {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}  # of Windows
    fixed |= dict.fromkeys(home, os.path.join(folder, "home")) | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)
    return fixed | dict.fromkeys(single, "1")


def system_call_filter(machine: str) -> bytes:
    """Return the program for seccomp that answers EPERM to forbidden calls, and to those of another machine.

    It allows only sockets of _FAMILIES, because network namespaces don't isolate those of virtual machines (AF_VSOCK).
    Raises Stopped for a machine whose numbers are not known here.

    Parameters
    ----------
    machine : str
        Name of the machine, such as "x86_64".

    Raises
    ------
    Stopped
        If the numbers of its system calls are not known here.
    """
    if machine not in _CALLS:
        raise Stopped(f"the numbers of system calls on {machine} are not known here. Use --container")
    load, equal, at_least, result = 0x20, 0x15, 0x35, 0x06
    architecture, socket, *calls = _CALLS[machine]
    # Each call jumps to the last instruction but one, which refuses. 0x40000000 begins the calls of x32.
    tests = [(equal, call) for call in calls] + [(at_least, 0x40000000)]
    lines = [(load, 0, 0, 4), (equal, 1, 0, architecture), (result, 0, 0, 0x50001), (load, 0, 0, 0)]
    count = len(_FAMILIES)
    lines += [(kind, len(tests) - at + count + 1, 0, number) for at, (kind, number) in enumerate(tests)]
    lines += [(equal, 0, count + 2, socket), (load, 0, 0, 16)]
    lines += [(equal, count - at, 0, family) for at, family in enumerate(_FAMILIES)]
    lines += [(result, 0, 0, 0x50001), (result, 0, 0, 0x7FFF0000)]
    return b"".join(struct.pack("HBBI", *line) for line in lines)
