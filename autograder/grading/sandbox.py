"""The worker's cage: namespaces of its own, a root that holds only what it needs, no capability, and limits.

`fork` makes a process in namespaces of its own, which calls `enter`. As root it becomes a user that nobody is; as an
ordinary user it works inside a user namespace. Either way it sees a read-only Python, `helpers`, a private temporary
folder, no network and no other process. (Linux man pages: namespaces(7), user_namespaces(7), pivot_root(2),
capabilities(7).)
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from functools import cache
from pathlib import Path

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
CLONE = {"x86_64": 56, "aarch64": 220}
CAPSET = {"x86_64": 126, "aarch64": 91}
ROOM = "/room"  # the folder of the new root that is the worker's own root
KEYCTL, JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1
NOBODY = 1_900_000_000  # from here on no user, file or service has a number; each worker has its own

USER = os.getuid(), os.getgid()  # in a new user namespace nobody has a number until it is mapped

libc = ctypes.CDLL(None, use_errno=True)

HINT = (
    "On Ubuntu 24.04 and hosted CI runners `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` allows "
    "namespaces; in Docker add `--security-opt seccomp=unconfined --cap-add SYS_ADMIN`. Without them, `--unsafe` "
    "grades in plain processes, which a hostile submission can leave."
)


def _do(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if x is None else x.encode() for x in (source, target, kind)]
    _do(libc.mount(*encoded, ctypes.c_ulong(flags), None if data is None else data.encode()), f"mount {target}")


def die_with_parent() -> None:
    """A worker must not outlive the zygote, nor the zygote its controller."""
    if sys.platform == "linux":
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def first_to_go() -> None:
    """Where memory runs out, the kernel ends a worker and not the grader: limits are for one process, not for all."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")


def readable() -> list[str]:
    """Paths that a worker may read: the system's libraries, this Python, its packages, and `helpers`."""
    import helpers

    roots = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"]
    project = Path(helpers.__file__).resolve().parent.parent
    elsewhere = [path for path in sys.path if path and not project.is_relative_to(Path(path).resolve())]
    unused = _unused()
    elsewhere = [path for path in elsewhere if path not in unused]
    roots += [sys.base_prefix, sys.prefix, *elsewhere, str(project / "helpers")]
    roots = [path for path in dict.fromkeys(map(os.path.abspath, roots)) if os.path.exists(path)]
    if not (project / "pyproject.toml").exists():  # installed among the packages, where no key and no solution lies
        return roots
    return [str(part) for path in roots for part in _without(Path(path), project)]


@cache
def shown() -> list[str]:
    """What is readable, looked up once: a zygote asks before it forks, so that no worker needs to."""
    return readable()


def _unused() -> set[str]:
    """Folders of PYTHONPATH from which nothing was loaded: code of the instructor's own, not a home of packages."""
    used = set()
    for name, module in list(sys.modules.items()):
        if "." not in name and getattr(module, "__file__", None):
            used.add(
                os.path.dirname(os.path.dirname(module.__file__) if hasattr(module, "__path__") else module.__file__)
            )
    named = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return set(map(os.path.abspath, named)) - used


def _without(root: Path, project: Path) -> list[Path]:
    """What to show of `root`, in which the project with its keys may lie, or which it may be: a Python made in it."""
    real = root.resolve()
    if not project.is_relative_to(real):
        return [root]
    if project == real:
        return [root / name for name in ("bin", "lib", "lib64", "pyvenv.cfg") if (root / name).exists()]
    return [part for child in sorted(root.iterdir()) for part in _without(child, project)]


def possible() -> str:
    """Why a cage is not to be had here, or nothing if it is: tried in a process of its own."""
    if sys.platform != "linux":
        return f"{sys.platform} has no namespaces"
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            caged = fork()
            if caged:
                os.waitpid(caged, 0)
                os._exit(0)
            enter({"cpu_seconds": 10, "memory_bytes": 0, "file_bytes": 2**20, "disk_bytes": 2**20, "processes": 8})
        except BaseException as error:
            os.write(write, str(error).encode()[:300] or b"unknown")
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        why = pipe.read()
    os.waitpid(pid, 0)
    return why


def enter(limits: dict, device: str = "cpu") -> None:
    """Put this process, a child that `fork` has made, into the cage; returns in a child of it, while it only waits.

    It is the first process of its namespace: when it ends the kernel ends all others in there, whatever they have made
    of their sessions and signals, so it is never the student's.
    `limits` holds cpu_seconds, memory_bytes (0: none), file_bytes, disk_bytes and processes. Raises OSError where
    something of it is refused.
    """
    root = USER[0] == 0
    nobody = NOBODY + own_number()  # one of its own: processes are counted by user
    # No namespace holds the instructor's keys: an empty keyring takes their place. Refused where there are no keys.
    libc.syscall(KEYCTL[os.uname().machine], JOIN_SESSION_KEYRING, None, 0, 0, 0)
    if not root:
        _map_user(*USER)
    _new_root(limits["disk_bytes"], device)
    _lose_privileges(nobody if root else None)
    die_with_parent()  # the kernel forgets it when a process changes its user
    limit(limits)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # nor may it be traced, though its user is the student's: from the start
    child = _clone()
    if child:
        _wait(child)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # a GPU's driver reads its own process's maps in /proc
    resource.setrlimit(resource.RLIMIT_NPROC, (limits["processes"],) * 2)


def _map_user(uid: int, gid: int) -> None:
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def fork() -> int:
    """`os.fork` into namespaces of its own. Raises OSError where they are not to be had."""
    return _clone(NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET | (NEWUSER if USER[0] else 0))


def own_number() -> int:
    """This process's number outside its namespace, as long as it sees the old /proc."""
    return int(os.readlink("/proc/self"))


def _clone(flags: int = 0) -> int:
    """`os.fork` without the handlers of C libraries: torch's thread pool breaks if they run twice in a row."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    child = ctypes.PyDLL(None, use_errno=True).syscall(CLONE[os.uname().machine], flags | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
        _do(min(child, 0), "clone")
    return child


def _wait(child: int) -> None:
    """An outer process holds nothing and ends with the inner one; orphans that come to it go on the way."""
    os.closerange(0, 1024)
    with contextlib.suppress(BaseException):
        while os.wait()[0] != child:
            pass
    os._exit(0)


def _new_root(disk_bytes: int, device: str) -> None:
    """A root of read-only binds in an empty tmpfs, with its own /proc and /tmp; the old root goes out of sight."""
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    # The parent folders are made here, so a home that others cannot read hides nothing that is bound below it.
    new = f"/tmp{ROOM}"
    seen = shown() + (["/sys"] if device != "cpu" else [])
    devices = ("null", "zero", "random", "urandom", *(_gpu_devices() if device != "cpu" else ()))
    # Opened before anything is mounted over /tmp, where the project itself may lie.
    sources = [_Source(path) for path in seen] + [_Source(f"/dev/{name}", writable=True) for name in devices]
    _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, f"size={disk_bytes},nr_inodes=10000,mode=755")
    os.mkdir(new, 0o755)
    for source in sources:
        source.bind(new)
    for folder, mode in (("proc", 0o755), ("tmp", 0o1777), ("dev/shm", 0o1777)):
        os.makedirs(f"{new}/{folder}", exist_ok=True)
        os.chmod(f"{new}/{folder}", mode)
    os.mkdir("/tmp/old", 0o700)
    os.chdir("/tmp")
    _do(libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"old"), "pivot_root")
    os.chdir("/")
    _mount("proc", f"{ROOM}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _do(libc.umount2(b"/old", MNT_DETACH), "umount")
    os.rmdir("/old")
    # Whose root is not that of its namespace may make no user namespace, in which it would have every capability.
    os.chroot(ROOM)
    os.chdir("/tmp")


class _Source:
    """A file, folder or link of the old root, to be shown at the same place in the new one."""

    def __init__(self, path: str, writable: bool = False) -> None:
        self.path, self.writable = path, writable
        self.link = os.readlink(path) if os.path.islink(path) else ""
        self.fd = os.open(path, os.O_PATH) if os.path.exists(path) and not self.link else -1
        self.folder = os.path.isdir(path)

    def bind(self, new: str) -> None:
        target = new + self.path
        if os.path.lexists(target) and self.link:
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if self.link:
            os.symlink(self.link, target)
        if self.fd < 0:
            return
        os.makedirs(target, exist_ok=True) if self.folder else Path(target).touch()
        _mount(f"/proc/self/fd/{self.fd}", target, None, MS_BIND)
        os.close(self.fd)
        if not self.writable:
            _mount("none", target, None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _gpu_devices() -> list[str]:
    return [name for name in os.listdir("/dev") if name.startswith("nvidia") and not os.path.isdir(f"/dev/{name}")]


def _lose_privileges(user: int | None) -> None:
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _do(libc.syscall(CAPSET[os.uname().machine], header, (ctypes.c_uint32 * 6)()), "capset")


def limit(limits: dict) -> None:
    """CPU seconds, memory on top of what torch has mapped, size of files; no core dump."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_seconds"], limits["cpu_seconds"] + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"],) * 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    if limits["memory_bytes"] and sys.platform == "linux":
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + limits["memory_bytes"],) * 2)
