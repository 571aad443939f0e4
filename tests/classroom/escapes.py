"""What a hostile notebook tries: each function returns something true where it got out of its jail.

The source of this module is the first cell of a handed-in notebook; `given` names what the grader's machine has: files,
sockets, processes and keys that a notebook must neither see nor touch.
"""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ATTEMPTS: dict[str, Callable[[SimpleNamespace], Any]] = {}
CREATE = os.O_CREAT | os.O_WRONLY


def attempt(function: Callable[[SimpleNamespace], Any]) -> Callable[[SimpleNamespace], Any]:
    ATTEMPTS[function.__name__] = function
    return function


def libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def from_c(path: str) -> bytes:
    """Read a file without Python's `open`."""
    handle, text = libc().open(path.encode(), 0), ctypes.create_string_buffer(100)
    return text.raw[: libc().read(handle, text, 100)] if handle >= 0 else b""


def others() -> list[Path]:
    return [each for each in Path("/proc").iterdir() if each.name.isdigit() and int(each.name) != os.getpid()]


# files of the grader


@attempt
def realpath_replaced(given: SimpleNamespace) -> Any:
    real, os.path.realpath = os.path.realpath, lambda path, **_: os.getcwd()
    try:
        return Path(given.secret).read_text()
    finally:
        os.path.realpath = real


@attempt
def system_of_libc(given: SimpleNamespace) -> Any:
    return libc().system(f"cp {given.secret} {given.outside}/copied".encode()) == 0


@attempt
def open_of_libc(given: SimpleNamespace) -> Any:
    return from_c(given.secret)


@attempt
def arrow_reads(given: SimpleNamespace) -> Any:
    import pyarrow.fs

    return pyarrow.fs.LocalFileSystem().open_input_stream(given.secret).read()


@attempt
def arrow_writes(given: SimpleNamespace) -> Any:
    import pyarrow.fs

    pyarrow.fs.LocalFileSystem().open_output_stream(f"{given.outside}/arrow").write(b"x")
    return True


@attempt
def arrow_parses(given: SimpleNamespace) -> Any:
    import pyarrow.csv

    return pyarrow.csv.read_csv(given.secret).column_names


@attempt
def sqlite_writes(given: SimpleNamespace) -> Any:
    import sqlite3

    sqlite3.connect(f"{given.outside}/base").execute("create table x (y)")
    return True


@attempt
def a_program_reads(given: SimpleNamespace) -> Any:
    return subprocess.run(["cat", given.secret], capture_output=True, check=False).stdout


@attempt
def a_child_reads(given: SimpleNamespace) -> Any:
    ends = os.pipe()
    if not libc().fork():
        os.write(ends[1], from_c(given.secret))
        libc()._exit(0)
    os.close(ends[1])
    return os.read(ends[0], 100)


@attempt
def a_symbolic_link(given: SimpleNamespace) -> Any:
    libc().symlink(given.secret.encode(), b"linked")
    return from_c("linked")


@attempt
def a_hard_link(given: SimpleNamespace) -> Any:
    return libc().link(given.secret.encode(), b"hard") == 0


@attempt
def through_the_root_of_a_process(given: SimpleNamespace) -> Any:
    return any(from_c(f"{each}/{way}{given.secret}") for each in others() for way in ("root", "cwd"))


@attempt
def watching_a_folder(given: SimpleNamespace) -> Any:
    return libc().inotify_add_watch(libc().inotify_init(), given.outside.encode(), 0xFFF) >= 0


@attempt
def installing_for_good(given: SimpleNamespace) -> Any:
    import msgspec

    path = Path(msgspec.__file__).parent.parent / "escaped.pth"
    handle = libc().open(str(path).encode(), CREATE, 0o600)
    if handle >= 0:
        path.unlink()
    return handle >= 0


@attempt
def a_file_for_everyone(given: SimpleNamespace) -> Any:
    return libc().open(given.shared.encode(), CREATE, 0o600) >= 0 and False  # its grader looks for it


@attempt
def shared_memory_of_the_machine(given: SimpleNamespace) -> Any:
    return from_c(f"/dev/shm/{given.shm}")


@attempt
def three_hundred_megabytes(given: SimpleNamespace) -> Any:
    handle = libc().open(b"large", CREATE, 0o600)
    block = bytes(10_000_000)
    return sum(libc().write(handle, block, len(block)) == len(block) for _ in range(30)) == 30


@attempt
def the_kernels_settings(given: SimpleNamespace) -> Any:
    paths = ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/dev/kmsg")
    return [path for path in paths if libc().open(path.encode(), os.O_WRONLY) >= 0]


@attempt
def passwords_and_sockets_of_services(given: SimpleNamespace) -> Any:
    seen = [from_c("/etc/shadow"), from_c("/etc/hostname"), from_c("/etc/machine-id")]
    return any(seen) or (Path("/run").exists() and list(Path("/run").iterdir()))


# other processes


@attempt
def environment_of_its_own(given: SimpleNamespace) -> Any:
    return given.key in str(os.environ)


@attempt
def environments_of_others(given: SimpleNamespace) -> Any:
    found = b""
    for each in others():
        handle, text = libc().open(f"{each}/environ".encode(), 0), ctypes.create_string_buffer(100_000)
        found += text.raw[: max(0, libc().read(handle, text, 100_000))]
    return given.key.encode() in found


@attempt
def memory_of_the_grader(given: SimpleNamespace) -> Any:
    return libc().open(f"/proc/{given.pid}/mem".encode(), 0) >= 0


@attempt
def memory_of_anything(given: SimpleNamespace) -> Any:
    return [each for each in others() if libc().open(f"{each}/mem".encode(), 0) >= 0]


@attempt
def files_of_anything(given: SimpleNamespace) -> Any:
    return [each for each in others() if libc().open(f"{each}/fd/1".encode(), os.O_WRONLY) >= 0]


@attempt
def files_that_were_left_open(given: SimpleNamespace) -> Any:
    names = [
        os.readlink(f"/proc/self/fd/{number}") for number in range(3, 100) if os.path.islink(f"/proc/self/fd/{number}")
    ]
    return [name for name in names if name.startswith("/") and not name.startswith(("/tmp", "/dev", "/proc", "/usr"))]


@attempt
def signal_to_the_grader(given: SimpleNamespace) -> Any:
    return libc().kill(given.pid, 0) == 0


@attempt
def tracing_the_grader(given: SimpleNamespace) -> Any:
    return libc().ptrace(0x4206, given.pid, None, None) == 0


@attempt
def tracing_anything(given: SimpleNamespace) -> Any:
    return [each for each in others() if libc().ptrace(0x4206, int(each.name), None, None) == 0]


@attempt
def copying_memory(given: SimpleNamespace) -> Any:
    local = (ctypes.c_uint64 * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
    libc().process_vm_readv(given.pid, local, 1, local, 1, 0)
    return ctypes.get_errno() not in (1, 3)  # not permitted, no such process


@attempt
def the_graders_session(given: SimpleNamespace) -> Any:
    return os.getsid(0) == given.session


@attempt
def typing_into_the_terminal(given: SimpleNamespace) -> Any:
    return libc().open(b"/dev/tty", os.O_RDWR) >= 0


@attempt
def memory_segments_of_others(given: SimpleNamespace) -> Any:
    return libc().shmget(given.segment, 0, 0) >= 0


@attempt
def the_graders_keys(given: SimpleNamespace) -> Any:
    return libc().syscall(250 if os.uname().machine == "x86_64" else 219, 0, -3, 1) > 0


# the network


@attempt
def a_service_of_the_machine(given: SimpleNamespace) -> Any:
    return socket.create_connection(("127.0.0.1", given.port), timeout=1)


@attempt
def a_socket_that_no_network_namespace_holds(given: SimpleNamespace) -> Any:
    found = []
    for family in (8, 17, 21, 29, 31, 38, 40, 44):  # of virtual machines (40), packets, radios, the kernel's ciphers
        for kind in (1, 2, 3):
            if libc().socket(family, kind, 0) >= 0:
                found.append((family, kind))
    return found


@attempt
def an_ipv6_service_of_the_machine(given: SimpleNamespace) -> Any:
    return socket.create_connection(("::1", given.port), timeout=1)


@attempt
def an_abstract_socket(given: SimpleNamespace) -> Any:
    socket.socket(socket.AF_UNIX).connect(f"\0{given.abstract}")
    return True


@attempt
def a_socket_in_a_folder(given: SimpleNamespace) -> Any:
    return libc().connect(socket.socket(socket.AF_UNIX).fileno(), b"\1\0" + given.socket.encode() + b"\0", 110) == 0


@attempt
def a_datagram(given: SimpleNamespace) -> Any:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 9))


@attempt
def a_question_to_the_resolver(given: SimpleNamespace) -> Any:
    servers = [line.split()[1] for line in from_c("/etc/resolv.conf").decode().splitlines() if "nameserver" in line]
    return [
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (name, 53)) for name in servers or ["192.0.2.1"]
    ]


@attempt
def listening_on_all_addresses(given: SimpleNamespace) -> Any:
    socket.create_server(("0.0.0.0", 0))
    return [name for _, name in socket.if_nameindex() if name != "lo"]


@attempt
def raw_packets(given: SimpleNamespace) -> Any:
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


# powers


@attempt
def a_tree_of_mounts_of_its_own(given: SimpleNamespace) -> Any:
    # fsopen, open_tree, move_mount, pivot_root
    calls = ((430, b"tmpfs", 0), (428, -100, b"/", 1), (429, -100, b"/tmp", -100, b"/dev", 0))
    more = [libc().pivot_root(b"/tmp", b"/tmp"), libc().chroot(b"/tmp"), libc().mount(b"x", b"/tmp", b"tmpfs", 0, None)]
    return any(libc().syscall(*each) >= 0 for each in calls) or 0 in more


@attempt
def writing_into_the_python_that_runs_it(given: SimpleNamespace) -> Any:
    source, ends = os.open(sys.executable, os.O_RDONLY), os.pipe()
    libc().splice(source, None, ends[1], None, 1, 0)
    os.write(ends[1], b"Z")
    return Path(sys.executable).read_bytes()[1:2] == b"Z"


@attempt
def the_machines_name(given: SimpleNamespace) -> Any:
    return os.uname().nodename == given.name


@attempt
def capabilities(given: SimpleNamespace) -> Any:
    return not any(line.split() == ["CapEff:", "0" * 16] for line in Path("/proc/self/status").read_text().splitlines())


@attempt
def programs_that_run_as_root(given: SimpleNamespace) -> Any:
    return "NoNewPrivs:\t1" not in Path("/proc/self/status").read_text()


@attempt
def mounting(given: SimpleNamespace) -> Any:
    os.makedirs("mounted", exist_ok=True)
    return libc().mount(b"tmpfs", b"mounted", b"tmpfs", 0, None) == 0 and libc().umount(b"mounted") == 0


@attempt
def a_new_root(given: SimpleNamespace) -> Any:
    return (os.fork() == 0 and os._exit(libc().chroot(b".") == 0)) or os.wait()[1] != 0


@attempt
def a_namespace_of_its_own(given: SimpleNamespace) -> Any:
    return (os.fork() == 0 and os._exit(libc().unshare(0x10000000) == 0)) or os.wait()[1] != 0


@attempt
def device_nodes(given: SimpleNamespace) -> Any:
    return libc().mknod(b"disk", 0o060600, os.makedev(8, 0)) == 0


@attempt
def disks_and_memory(given: SimpleNamespace) -> Any:
    return [each for each in Path("/dev").iterdir() if each.is_block_device() or each.name in ("mem", "kmsg", "fuse")]


@attempt
def the_clock(given: SimpleNamespace) -> Any:
    if capabilities(given):
        return True  # it could; this machine's clock stays as it is
    now = (ctypes.c_long * 2)(int(time.time()), 0)
    return libc().clock_settime(0, now) == 0


@attempt
def more_of_the_processor(given: SimpleNamespace) -> Any:
    return (os.fork() == 0 and os._exit(libc().nice(-5) != -1)) or os.wait()[1] != 0


@attempt
def higher_limits(given: SimpleNamespace) -> Any:
    import resource

    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    return most < 0 or resource.setrlimit(resource.RLIMIT_DATA, (most + 1, most + 1)) is None


@attempt
def rarely_used_system_calls(given: SimpleNamespace) -> Any:
    numbers = (425, 321, 298, 323) if os.uname().machine == "x86_64" else (425, 280, 241, 282)
    found = []
    for number in numbers:  # io_uring_setup, bpf, perf_event_open, userfaultfd: with arguments that no kernel takes
        ctypes.set_errno(0)
        if libc().syscall(number, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38):
            found.append(number)
    return found


def tried(given: SimpleNamespace) -> dict[str, bool]:
    found = {}
    for name, function in ATTEMPTS.items():
        try:
            found[name] = bool(function(given))
        except BaseException:
            found[name] = False
    sys.stdout.flush()
    return found
