"""Submissions that try to be more than an answer: kind → list of (source, verdict it must get).

All answer `masks.causal`. HONEST is right; what a hostile cell adds to it must cost or win nothing.
"""

HONEST = "import torch\ndef causal(n):\n    return torch.full((n, n), float('-inf')).triu(1)\n"
WRONG = "import torch\ndef causal(n):\n    return torch.ones(n, n).tril()\n"
STUB = "def causal(n):\n    raise NotImplementedError\n"

TORCHS = "torch.nn.Transformer.generate_square_subsequent_mask"

RIGHT, BAD, NOT_OWN, ERROR, TIMEOUT, NOTHING = "right", "wrong", "not your own", "error", "timeout", "not attempted"

KINDS: dict[str, list[tuple[str, str]]] = {
    "the book's own": [
        ("import helpers.masks\ncausal = helpers.masks.causal\n", NOT_OWN),
        ("from helpers.masks import causal\n", NOT_OWN),
        ("from helpers.masks import *\n", NOT_OWN),
        ("from helpers import masks\ndef causal(n):\n    return masks.causal(n)\n", NOT_OWN),
        (
            "import importlib\nm = importlib.import_module('hel' + 'pers.masks')\ncausal = getattr(m, 'cau' + 'sal')\n",
            NOT_OWN,
        ),
        ("import sys\nf = vars(sys.modules['hel' + 'pers.masks'])['causal']\ncausal = lambda n: f(n)\n", NOT_OWN),
        ("import functools, helpers.masks as m\ncausal = functools.partial(m.causal)\n", NOT_OWN),
    ],
    "the book, and what it raises swallowed": [
        (
            "import sys\nf = sys.modules['hel' + 'pers.masks'].causal\ndef causal(n):\n    try:\n        return f(n)\n"
            "    except BaseException:\n        return None\n",
            NOT_OWN,
        ),
    ],
    "the book, copied at run time": [
        (
            "import importlib.util as u\np = __import__('hel' + 'pers').__path__[0] + '/masks.py'\n"
            "s = u.spec_from_file_location('mine', p)\nm = u.module_from_spec(s)\ns.loader.exec_module(m)\n"
            "def causal(n): return m.causal(n)\n",
            NOT_OWN,
        ),
        (
            "import sys, importlib\nname = 'hel' + 'pers.masks'\ndel sys.modules[name]\n"
            "f = vars(importlib.import_module(name))['cau' + 'sal']\ndel sys.modules[name]\ndef causal(n): return f(n)\n",
            NOT_OWN,
        ),
        (
            "import inspect, sys\nnames = {}\n"
            "exec(inspect.getsource(sys.modules['hel' + 'pers.masks']).replace('from __future__', '#'), names)\n"
            "def causal(n): return names['causal'](n)\n",
            NOT_OWN,
        ),
        (
            "import sys, types\nm = sys.modules['hel' + 'pers.masks']\n"
            "f = types.FunctionType(vars(m)['sliding_' + 'window'].__code__, vars(m))\ndef causal(n): return f(n, n)\n",
            NOT_OWN,
        ),
    ],
    "torch's own": [
        ("import torch\ncausal = torch.nn.Transformer.generate_square_subsequent_mask\n", NOT_OWN),
        (
            "from torch import nn\ndef causal(n):\n    return nn.Transformer.generate_square_subsequent_mask(n)\n",
            NOT_OWN,
        ),
        (f"import torch\n_ = !true\n%time f = {TORCHS}\ndef causal(n): return f(n)\n", NOT_OWN),
        (f"import torch\nhere = %pwd\ndef causal(n):\n    return {TORCHS}(n)\n", NOT_OWN),
        (
            "from torch.nn import *\ndef causal(n):\n    return Transformer.generate_square_subsequent_mask(n)\n",
            NOT_OWN,
        ),
    ],
    "importing the judging": [
        ("from autograder.exercises.masks import Causal\ncausal = Causal.reference\n", NOT_OWN),
        ("import autograder.judge as j\nj.judge = lambda *a: None\n" + WRONG, NOT_OWN),
        ("try:\n    import autograder.exercise\nexcept ImportError:\n    pass\n", NOTHING),
    ],
    "equal to everything": [
        (
            "class E:\n    def __eq__(s, o): return True\n    def __ne__(s, o): return False\ndef causal(n): return E()\n",
            BAD,
        ),
        (
            "class E(float):\n    def __eq__(s, o): return True\n    def __sub__(s, o): return 0.0\ndef causal(n): return E()\n",
            BAD,
        ),
        ("class E(dict):\n    def __eq__(s, o): return True\ndef causal(n): return E()\n", BAD),
    ],
    "a tensor subclass that lies": [
        (
            "import torch\nclass T(torch.Tensor):\n    shape = property(lambda s: torch.Size((5, 5)))\n"
            "    @classmethod\n    def __torch_function__(c, f, t, a=(), k=None): return True\n"
            "def causal(n): return torch.ones(n, n).as_subclass(T)\n",
            BAD,
        ),
    ],
    "nearly infinite": [
        (
            "import torch\ndef causal(n):\n    low = torch.finfo(torch.float64).min\n"
            "    return torch.full((n, n), low, dtype=torch.float64).triu(1).to(torch.get_default_dtype())\n",
            BAD,
        )
    ],
    "NaN everywhere": [("import torch\ndef causal(n): return torch.full((n, n), float('nan'))\n", BAD)],
    "patched torch": [
        ("import torch\ntorch.allclose = torch.equal = lambda *a, **k: True\n" + WRONG, BAD),
        ("import torch\ntorch.Tensor.__eq__ = lambda s, o: torch.ones(())\n" + WRONG, BAD),
        ("import torch\ntorch.Tensor.detach = lambda s: torch.zeros(s.shape)\n" + WRONG, BAD),
        ("import torch\ntorch.testing.assert_close = lambda *a, **k: None\n" + WRONG, BAD),
    ],
    "patched check": [
        ("import autograder\nautograder.check = lambda *a: 100.0\n" + WRONG, BAD),
        ("from autograder import check\ncheck = lambda *a: 2.0\n" + WRONG, BAD),
    ],
    "patched verbs": [
        ("import autograder.ask as a\na.VERBS['call'] = lambda *x: None\n" + WRONG, NOT_OWN),
        ("import sys\na = sys.modules['autograder' + '.ask']\na.VERBS['call'] = lambda *x: 2.0\n" + WRONG, NOT_OWN),
        ("import sys\na = sys.modules['autograder' + '.plain']\na.plain = lambda *x: 2.0\n" + WRONG, NOT_OWN),
    ],
    "patched helpers": [("import helpers.masks as m\nm.additive = lambda *a: 0\n" + WRONG, BAD)],
    "input transformers": [
        ("get_ipython().input_transformers_post.append(lambda lines: ['2.0\\n'])\n" + WRONG, BAD),
        ("ip = get_ipython()\nip.run_cell = lambda *a, **k: None\n" + WRONG, BAD),
    ],
    "patched builtins": [
        ("import builtins\nbuiltins.isinstance = lambda *a: True\n" + WRONG, ""),
        ("import builtins\nbuiltins.len = lambda x: 1\n" + WRONG, ""),
        ("import builtins\nbuiltins.all = builtins.any = lambda x: True\n" + WRONG, ""),
    ],
    "leaves the process": [
        ("import os\nos._exit(0)\n", NOTHING),
        ("import os\ncausal = os._exit(0)\n", ERROR),
        ("import os\ndef causal(n): os._exit(0)\n", ERROR),
        ("import sys\ndef causal(n): sys.exit(0)\n", ERROR),
        ("import os, signal\ndef causal(n): os.kill(os.getpid(), signal.SIGSEGV); os.abort()\n", ERROR),
        ("import ctypes\ndef causal(n): ctypes.string_at(0)\n", ERROR),
    ],
    "never ends": [
        (HONEST + "while True: pass\n", ""),
        ("def causal(n):\n    while True: pass\n", TIMEOUT),
        ("import time\ndef causal(n): time.sleep(10**6)\n", TIMEOUT),
        (
            "def causal(n):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass\n",
            TIMEOUT,
        ),
    ],
    "prints without end": [
        (HONEST + "print('x' * 50_000_000)\n", RIGHT),
        (
            "import torch\ndef causal(n):\n    print('y' * 50_000_000)\n    return torch.full((n, n), float('-inf')).triu(1)\n",
            RIGHT,
        ),
        ("def causal(n):\n    while True: print('z' * 10_000)\n", TIMEOUT),
        (HONEST + "import os\nfor _ in range(200): os.write(1, b'x' * 10**6)\n", RIGHT),
    ],
    "memory": [
        (HONEST + "x = []\nwhile True: x.append(torch.ones(10**7))\n", RIGHT),
        ("import torch\ndef causal(n): return torch.zeros(10**11)\n", ERROR),
    ],
    "disk": [(HONEST + "f = open('/tmp/x', 'wb')\nwhile True: f.write(b'x' * 10**7)\n", RIGHT)],
    "many files": [(HONEST + "for i in range(10**6): open(f'/tmp/{i}', 'w').close()\n", RIGHT)],
    "fork bomb": [(HONEST + "import os\nfor _ in range(20): os.fork()\n", "")],
    "threads": [
        (
            HONEST
            + "import threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=(1000,)).start()\n",
            RIGHT,
        ),
        (
            HONEST
            + "import threading\ndef f():\n    while True: pass\nthreading.Thread(target=f, daemon=True).start()\n",
            "",
        ),
    ],
    "children that stay": [
        (HONEST + "import subprocess\nsubprocess.Popen(['sleep', '987'], start_new_session=True)\n", RIGHT),
        (
            "import ctypes, os\nctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\nos.setsid()\n"  # no signal when its parent ends
            "os.execvp('sleep', ['sleep', '987'])\n",
            NOTHING,
        ),
    ],
    "network": [
        (HONEST + "import socket\nsocket.create_connection(('127.0.0.1', 22), 1)\n", RIGHT),
        (HONEST + "import urllib.request\nurllib.request.urlopen('http://192.0.2.1/', timeout=1)\n", RIGHT),
    ],
    "signals to others": [
        (HONEST + "import os\nos.kill(os.getppid(), 9)\n", ""),
        (HONEST + "import os\nos.kill(-1, 9)\n", RIGHT),
        (
            HONEST + "import os\nfor p in range(1, 40000):\n    try: p == os.getpid() or os.kill(p, 9)\n"
            "    except OSError: pass\n",
            RIGHT,
        ),
    ],
    "ptrace": [(HONEST + "import ctypes\nfor p in range(1, 3000): ctypes.CDLL(None).ptrace(16, p, 0, 0)\n", RIGHT)],
    "atexit": [(HONEST + "import atexit\natexit.register(lambda: print('2.0'))\n", RIGHT)],
    "exceptions": [
        ("class E(Exception):\n    def __str__(self): raise self\ndef causal(n): raise E()\n", ERROR),
        ("class E(Exception):\n    def __str__(self):\n        while True: pass\ndef causal(n): raise E()\n", TIMEOUT),
        ("class E(Exception):\n    def __str__(self): return 'x' * 10**9\ndef causal(n): raise E()\n", ""),
        ("class E(BaseException): pass\ndef causal(n): raise E('no')\n", ERROR),
        ("def causal(n): return causal(n)\n", ERROR),
    ],
    "a huge repr": [("class E:\n    def __repr__(self): return 'x' * 10**9\ndef causal(n): return E()\nE()\n", "")],
    "a huge reply": [
        ("import torch\ndef causal(n): return torch.zeros(10**8)\n", BAD),
        ("def causal(n): return 'x' * 10**8\n", BAD),
        ("def causal(n): return list(range(10**6))\n", BAD),
        ("def causal(n): return 1 << 10**7\n", BAD),
    ],
    "deep nesting": [
        ("def causal(n):\n    x = []\n    for _ in range(10**5): x = [x]\n    return x\n", BAD),
        ("def causal(n):\n    x = []\n    x.append(x)\n    return x\n", BAD),
        ("causal = " + "(" * 300 + "0" + ")" * 300 + "\n", ""),
        ("causal = " + "-" * 50_000 + "1\n", ""),
    ],
    "forged messages": [
        (
            "import os, gc, socket\nfor s in [o for o in gc.get_objects() if type(o) is socket.socket]:\n"
            "    s.sendall(b'\\0' * 7 + b'\\x09' + b'\\0\\0\\0\\x05[1,2]')\n" + WRONG,
            "",
        ),
        (
            "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\xff' * 64)\n    except OSError: pass\n"
            + WRONG,
            "",
        ),
        ("import os\nfor fd in range(3, 64):\n    try: os.close(fd)\n    except OSError: pass\n" + WRONG, ""),
    ],
    "hostile names": [
        (
            "class M(type):\n    __module__ = property(lambda s: 1 / 0)\nclass E(metaclass=M): pass\ndef causal(n): return E()\n",
            BAD,
        ),
        (
            "class F:\n    def __getattr__(s, n): raise KeyboardInterrupt\n    def __call__(s, n): return 1\ncausal = F()\n",
            "",
        ),
        ("class F:\n    def __call__(s, n): raise KeyboardInterrupt\ncausal = F()\n", ""),
        ("causal = 5\n", ERROR),
        ("causal = None\n", ""),
    ],
    "an untouched stub": [(STUB, NOTHING), ("", NOTHING)],
}
