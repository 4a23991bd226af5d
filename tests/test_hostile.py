"""What hostile submissions get: their honest score, a sentence, and nothing of anybody else's."""

import ctypes
import os
import platform
import subprocess
import sys
import time

import hostile
import pytest
import torch

from autograder.exercise import find, seed
from autograder.grading import cgroup, sandbox
from autograder.grading.controller import Ask, Limits, Run, Zygote, play

CAUSAL = find("masks.causal")
ROWS = [(f"{kind} {i + 1}", *row) for kind, rows in hostile.KINDS.items() for i, row in enumerate(rows)]


@pytest.fixture(scope="module")
def zygote():
    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    with Zygote(limits=Limits(cell_seconds=8, ask_seconds=4, memory_bytes=2**30, disk_bytes=2**25)) as made:
        yield made


def verdict(zygote, source):
    return play(zygote, [Run(source), Ask(CAUSAL, seed(CAUSAL))]).verdicts[1]


@pytest.mark.parametrize(("kind", "source", "expected"), ROWS, ids=[row[0].replace(" ", "-") for row in ROWS])
def test_a_hostile_submission_gets_its_honest_score(zygote, kind, source, expected):
    found = verdict(zygote, source)
    honest = hostile.HONEST in source
    if expected:
        assert found.verdict == expected, found.sentence
    assert found.score == 0 or honest or expected == "right", "an undeserved point"
    assert found.sentence.endswith((".", ")", "?")) and len(found.sentence) < 800
    assert verdict(zygote, hostile.HONEST).verdict == "right", "an honest neighbour lost points"


def test_there_are_enough_of_them():
    assert len(ROWS) >= 60
    assert len(hostile.KINDS) >= 30


def children(zygote):
    """States of the zygote's living children."""
    command = ["ps", "--ppid", str(zygote.launched.process.pid), "-o", "stat="]
    states = subprocess.run(command, capture_output=True, text=True).stdout.split()
    return [state for state in states if not state.startswith("Z")]


def test_nothing_is_left_behind(zygote):
    for source, _ in [*hostile.KINDS["children that stay"], *hostile.KINDS["an untouched stub"]]:
        verdict(zygote, source)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 987" not in running
    until = time.monotonic() + 5
    while children(zygote) and time.monotonic() < until:
        time.sleep(0.1)
    assert children(zygote) == []


def look(zygote, expression):
    """The value of an expression in a worker, as text."""
    played = play(zygote, [Run(f"print({expression})")])
    return played.errors[0] or played.outputs[0]


@pytest.mark.parametrize(
    "expression",
    [
        "open('/etc/passwd').read()",
        "open('/etc/shadow').read()",
        f"open({os.path.abspath('autograder/judge.py')!r}).read()",
        f"open({os.path.abspath('autograder/exercises/masks.py')!r}).read()",
        "open('/old/etc/passwd').read()",
        "open('/proc/1/root/etc/passwd').read()",
        "open('/dev/mem', 'rb').read(1)",
        "open('/dev/vda', 'rb').read(1)",
    ],
)
def test_a_worker_cannot_read(zygote, expression):
    assert "No such file" in look(zygote, expression) or "denied" in look(zygote, expression)


def test_a_worker_sees_no_other_process_and_no_environment_of_the_instructor(zygote, monkeypatch):
    assert "SECRET" not in look(zygote, "dict(__import__('os').environ)")
    processes = look(zygote, "[p for p in __import__('os').listdir('/proc') if p.isdigit()]")
    assert "['1', '2']" in processes, "the first, which only waits, and itself"


def test_a_worker_has_no_capability_and_cannot_get_one(zygote):
    status = look(zygote, "[l for l in open('/proc/self/status') if l.startswith(('Cap', 'NoNewPrivs'))]")
    assert status.count("0000000000000000") == 5
    assert "NoNewPrivs:\\\\t1" in status
    mount = "__import__('ctypes').CDLL(None).mount(b'none', b'/usr', None, 4096 | 32, None)"
    assert "-1" in look(zygote, mount)


def test_two_workers_do_not_see_each_others_files(zygote):
    play(zygote, [Run("open('/tmp/mine', 'w').write('x')")])
    assert "mine" not in look(zygote, "__import__('os').listdir('/tmp')")


def test_gradients_flow_in_every_worker(zygote):
    """torch's thread pool breaks when a fork of a fork runs its handlers twice: honest cells then died by chance."""
    source = "import torch\nx = torch.ones(3, 4, requires_grad=True)\n(x.softmax(-1) ** 2).sum().backward()"
    assert [play(zygote, [Run(source)]).errors[0] for _ in range(20)] == [""] * 20


def test_a_file_where_the_instructor_stands_is_neither_imported_nor_seen(tmp_path, monkeypatch):
    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    for name in ("matplotlib", "decorator", "helpers"):
        (tmp_path / f"{name}.py").write_text("from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    with Zygote() as made:
        assert str(tmp_path) not in look(made, "__import__('sys').path")
        assert verdict(made, hostile.HONEST).verdict == "right"
    assert not list(tmp_path.glob("*.ran")), "a student's file ran out of the cage"


def test_an_index_out_of_range_on_a_gpu_costs_no_other_exercise():
    if sandbox.possible() or not torch.cuda.is_available():
        pytest.skip("no namespaces, or no GPU on this system")
    wrong = "import torch\ndef causal(n): return torch.zeros(n, device='cuda')[torch.tensor([99], device='cuda')]"
    steps = [Run(wrong), Ask(CAUSAL, 1), Run(hostile.HONEST), Ask(CAUSAL, 2)]
    with Zygote("cuda") as made:
        verdicts = play(made, steps).verdicts
    assert (verdicts[1].verdict, verdicts[3].verdict) == ("error", "right")


def test_a_worker_is_the_first_to_go_where_memory_runs_out(zygote):
    assert "1000" in look(zygote, "open('/proc/self/oom_score_adj').read()")


HOGS = """
import os, time
for i in range(4):
    if os.fork() == 0:
        kept = b"x" * (400 * 2**20)
        time.sleep(60)
time.sleep(3)
children = [p for p in os.listdir("/proc") if p.isdigit() and p not in ("1", str(os.getpid()))]
held = [row for p in children for row in open(f"/proc/{p}/status") if row.startswith("RssAnon")]
print("children that hold 400 MB:", sum(int(row.split()[1]) > 390 * 1024 for row in held))
"""


def test_children_share_one_limit_of_memory(zygote):
    if not cgroup.home():
        pytest.skip("no memory control group can be made here, so each process has a limit of its own")
    shown = play(zygote, [Run(HOGS)]).outputs[0]
    assert "hold 400 MB: 4" not in shown, "1,600 MB were had under a limit of 1 GB and a quarter"
    assert verdict(zygote, hostile.HONEST).verdict == "right"


def test_no_control_group_is_left_behind():
    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    with Zygote() as made:
        pid = made.launched.process.pid
        verdict(made, hostile.HONEST)
    assert not cgroup.home() or not list(cgroup.home()[0].glob(f"workbook-{pid}-*"))


def test_a_worker_cannot_read_the_instructors_keys():
    add_key, keyctl = {"x86_64": (248, 250), "aarch64": (217, 219)}[platform.machine()]
    libc = ctypes.CDLL(None)
    if sandbox.possible() or libc.syscall(keyctl, 1, None, 0, 0, 0) < 0:
        pytest.skip("no namespaces or no kernel keyrings on this system")
    key = libc.syscall(add_key, b"user", b"workbook-test", b"PLANTED", 7, -3)
    read = f"__import__('ctypes').CDLL(None).syscall({keyctl}, 11, {key}, None, 0, 0)"
    assert libc.syscall(keyctl, 11, key, None, 0, 0) == 7
    with Zygote() as made:
        assert '"-1\\n"' in look(made, read)


def test_outputs_without_end_are_not_all_kept(zygote):
    loud = "from IPython.display import display\nfor _ in range(20): display({'text/plain': 'x' * 150_000}, raw=True)"
    played = play(zygote, [Run(loud)] * 12)
    assert played.errors == dict.fromkeys(range(12), "")
    assert len(played.outputs[0]) > 3_000_000, "what a few large figures take is kept"
    assert sum(map(len, played.outputs.values())) < 21 * 2**20
    assert "left out" in played.outputs[11]


@pytest.mark.parametrize("where", ["src/app", "."])
def test_the_project_is_not_shown_though_a_shown_folder_holds_it(tmp_path, monkeypatch, where):
    import helpers

    project = tmp_path / where
    for name in ("solutions/keys", "helpers", "src/other", "bin", "lib/python", "course"):
        (project / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    (project / "pyproject.toml").touch()
    monkeypatch.setattr(helpers, "__file__", str(project / "helpers" / "__init__.py"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    shown = [os.path.relpath(path, tmp_path) for path in sandbox.readable() if path.startswith(str(tmp_path))]
    assert {"bin", "lib", os.path.normpath(f"{where}/helpers")} <= set(shown)
    hidden = os.path.normpath(f"{where}/solutions")
    assert not any(os.path.commonpath([path, hidden]) in (path, hidden) for path in shown if path != ".")
    assert "." not in shown
