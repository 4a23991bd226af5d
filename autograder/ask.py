"""How a student's object is asked: a short closed list of verbs.

This module, `plain`, `expressions` and `book` are all of the grader that a worker loads. It knows inputs and verbs;
it knows no exercise, no right answer and no key.
"""

from __future__ import annotations

import contextlib
import linecache
import logging
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode

from autograder import book
from autograder.plain import map_tensors, plain, tensors

MAX_LISTED = 10_000
FIRST_WEIGHTS = ("uniform_", "normal_", "trunc_normal_", "xavier_uniform_", "xavier_normal_")
FIRST_WEIGHTS += ("kaiming_uniform_", "kaiming_normal_")
STRAY = "the result lives on the CPU"
LEFT = ("mode", "trainable", "weights", "arguments", "grad mode", "default dtype")

# What fails on a pretended GPU is an answer; torch would print a traceback for it, and stderr must stay clean.
logging.getLogger(FakeTensorMode.__module__).disabled = True


@dataclass(frozen=True)
class Case:
    """One question: plain inputs and how to put them.

    Floating inputs are drawn in float64 and put in `dtype`. `gradient` also asks for gradients, `fake` asks on a
    pretended GPU, where nothing is computed and only devices are watched. `rehearse` calls a module with something
    else first, which the book's own answers need not do.
    """

    inputs: tuple = ()
    named: dict[str, Any] = field(default_factory=dict)
    init: tuple = ()
    state: dict[str, Any] | None = None
    dtype: str = "float64"
    gradient: bool = False
    fake: bool = False
    rehearse: bool = True


@dataclass(frozen=True)
class Answer:
    """What came back: plain values only.

    `status` is one of value, not attempted, error, names, book, missing, timeout, crash. `gradients` has one entry
    for each floating input (then each weight, by name order); `changed` lists the arguments changed in place;
    `random` tells whether torch's global random state was used; `device` holds a device mismatch's message. `left`
    lists what else is not as it was, of `LEFT`: of models that were handed in the mode, which weights can be trained,
    or weights and buffers themselves; whether arguments require a gradient; and what torch does for all that follows.
    """

    status: str
    value: Any = None
    note: str = ""
    gradients: list | None = None
    changed: list | None = None
    random: bool = False
    device: str = ""
    left: list | None = None


class Misnamed(Exception):
    """A module's weights have other names or shapes than the exercise states."""


class Probe(nn.Module):
    """The one generic model that travels as weights; `ids (B, T)` → logits `(B, T, V)`, any T up to the size of `b`.

    As a layer it takes features `(B, T, D)`, of which each row weighs the tokens that it is a mixture of.
    Every probe has all of these weights, so nothing but its behaviour tells one from another.
    """

    NAMES = ("a", "b", "c", "d", "e", "f", "g")

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        for name in self.NAMES:
            self.register_buffer(name, weights[name])

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        time = ids.shape[1]
        token, gate = (ids @ t if ids.is_floating_point() else t[ids] for t in (self.a, self.d))  # (B, T, D) each
        h = token + self.b[:time]  # (B, T, D)
        gated = gate * h  # (B, T, D)
        h = h + self.c[0, :time, :time] @ h + self.c[1, :time, :time] @ gated  # (B, T, D)
        square = h.square().mean(-1)  # (B, T)
        size = square @ self.e[:time, :time].T / self.e[:time, :time].sum(-1)  # (B, T)
        h = torch.tanh(h / (size + 0.1).sqrt()[..., None])  # (B, T, D)
        return h @ self.f + self.g  # (B, T, V)


class Reader(nn.Module):
    """The one generic translator that travels as weights: source (B, S), target (B, T) → logits (B, T, V).

    It reads the source, then the target, token by token. What it has read is one of N states: a token leads from one
    to the next, by `a` (N, source V) or `b` (N, V), and each speaks with its row of `c` (N, V).
    """

    NAMES = ("a", "b", "c")

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        for name in self.NAMES:  # parameters, as a translator's are: people ask them for their device
            self.register_parameter(name, nn.Parameter(weights[name], requires_grad=False))

        self.tables = weights["a"].tolist(), weights["b"].tolist()  # so small that Python's lists are faster

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        (a, b), rows = self.tables, source.tolist()
        rows = rows * len(target) if len(rows) == 1 else rows
        if len(rows) != len(target):
            raise RuntimeError(f"source has {len(rows)} rows and target {len(target)}: each sentence needs its own.")
        states = []
        for heard, said in zip(rows, target.tolist(), strict=True):
            state = 0
            for token in heard:
                state = a[state][token]
            for token in said:
                state = b[state][token]
                states.append(state)
        place = torch.tensor(states, dtype=torch.long, device=self.c.device).view(target.shape)  # (B, T)
        return self.c[place]  # (B, T, V)


class Network(nn.Module):
    """A small model that travels as weights, to be changed or trained: a body, with a buffer in each layer, and `head`.

    Ids (B, T) → logits (B, C). In training mode each of its modules shows it: layers leave out what they compute, the
    dropout hides every second feature and the model itself every third, so that no answer depends on luck.
    """

    def __init__(self, weights: dict[str, torch.Tensor], training: bool = False, frozen: tuple = ()) -> None:
        super().__init__()
        d_model = weights["embedding.weight"].shape[1]
        self.embedding = nn.Embedding(*weights["embedding.weight"].shape)
        self.encoder = nn.ModuleList(_Layer(d_model) for name in weights if name.endswith("scale"))
        self.dropout = _Dropout(0.5)
        self.head = nn.Linear(d_model, len(weights["head.bias"]))
        for name, tensor in self.state_dict(keep_vars=True).items():
            tensor.data = weights[name].detach().clone()
        for name in frozen:
            self.get_parameter(name).requires_grad = False
        self.train(training)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)  # (B, T, D)
        for layer in self.encoder:
            x = layer(x)
        return self.head(self.dropout(_every(3, x.mean(1), self.training)))  # (B, C)


class _Layer(nn.Module):
    """`heads`, a linear layer, `norm`, and `scale`, a buffer."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.heads = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model)
        self.register_buffer("scale", torch.empty(d_model))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x if self.training else x + self.heads(x).tanh() * self.scale)


class _Dropout(nn.Dropout):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _every(2, x, self.training)


def _every(n: int, x: torch.Tensor, training: bool) -> torch.Tensor:
    """Dropout without chance: every nth feature of x (…, D) is hidden, from the first on."""
    return x * n / (n - 1) * (torch.arange(x.shape[-1], device=x.device) % n > 0) if training else x


def _networks(target: Callable, case: Case, inputs: tuple, named: dict) -> Any:
    """Dictionaries with weights become networks. Told are the result and what has become of each argument.

    A model that is made anew is asked for once more, of other models, with which it is to share nothing.
    """

    def made() -> tuple:
        with _no_first_weights():
            return tuple(Network(**x) if type(x) is dict and "weights" in x else x for x in inputs)

    mine, another = made(), None
    result = target(*mine, **named)
    if isinstance(result, nn.Module) and all(result is not x for x in mine):
        another = target(*made(), **named)
    return {"result": _told(result, mine, another), "after": [_told(x) for x in mine]}


def _told(value: Any, others: tuple = (), another: Any = None) -> Any:
    """A model in plain values, with what of it lies in the memory of others; the keys of a dictionary."""
    if type(value) is dict:
        return list(value)
    if not isinstance(value, nn.Module):
        return value
    state = value.state_dict()
    places = {name: x.untyped_storage().data_ptr() for name, x in state.items()}

    def shared(*held: Any) -> list[str]:
        found = tensors([dict(x.state_dict()) if isinstance(x, nn.Module) else x for x in held])
        taken = {x.untyped_storage().data_ptr() for x in found}
        return [name for name, place in places.items() if place in taken]

    return {
        "state": dict(state),
        "trainable": [name for name, weight in value.named_parameters() if weight.requires_grad],
        "training": [name for name, module in value.named_modules() if module.training],
        "shared": shared(*[x for x in others if isinstance(x, nn.Module)]),
        "borrowed": shared(*[x for x in others if type(x) is dict]),
        "again": shared(another),
        "itself": any(value is other for other in others),
    }


class Learner(nn.Module):
    """A small language model that travels as weights, ids (B, T) → logits (B, T, V): it reads the mean of the past.

    It is handed over in training mode, in which it hides features, as a model with dropout does. `rows` is the size of
    the largest batch that it has been trained on.
    """

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        for name, tensor in weights.items():
            self.register_parameter(name, nn.Parameter(tensor.detach().clone()))
        self.dropout, self.rows = _Dropout(0.5), 0

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        self.rows = max(self.rows, len(ids) if torch.is_grad_enabled() else 0)
        seen = torch.arange(1, ids.shape[1] + 1, device=ids.device)[:, None]  # (T, 1)
        h = torch.tanh(self.embedding[ids].cumsum(1) / seen)  # (B, T, D)
        return self.dropout(_every(3, h, self.training)) @ self.head + self.bias  # (B, T, V)


def _trains(target: Callable, case: Case, inputs: tuple, named: dict) -> Any:
    """`weights, rate, batches, …` become a learner and its optimizer: its weights after all batches, and its `rows`."""
    weights, rate, batches, *more = inputs
    model = Learner(weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for batch in batches:
        target(model, batch, optimizer, *more, **named)
    return {"rows": model.rows} | {name: getattr(model, name) for name in weights}


def _draws(target: Callable, case: Case, inputs: tuple, named: dict) -> Any:
    """`generator` is a seed: asked with a generator of that seed, then with another, and once more as this goes on.

    What a first call changes in place is seen, and makes no difference to the others.
    """
    seed = named["generator"]
    device = next((x.device for x in tensors(inputs)), "cpu")
    first, again = (torch.Generator(device).manual_seed(seed) for _ in range(2))
    more = [map_tensors(torch.clone, inputs) for _ in range(2)]
    asked = zip((inputs, *more), (first, again, again), strict=True)
    return [target(*given, **named | {"generator": generator}) for given, generator in asked]


def _call(target: Callable, case: Case, inputs: tuple, named: dict) -> Any:
    return target(*inputs, **named)


def _models(target: Callable, case: Case, inputs: tuple, named: dict) -> Any:
    """Dictionaries of a probe's weights become probes, those of a reader's become readers."""
    kinds = {frozenset(kind.NAMES): kind for kind in (Probe, Reader)}
    made = [kinds.get(frozenset(x)) if type(x) is dict else None for x in inputs]
    return target(*[kind(x).eval() if kind else x for kind, x in zip(made, inputs, strict=True)], **named)


def _module(target: Callable, case: Case, inputs: tuple, named: dict) -> Any:
    module = _build(target, case, inputs)
    if case.fake:
        # A module cannot be moved to a pretended device, but it can be called with weights and buffers that live there.
        device = next((x.device for x in tensors((inputs, named))), torch.get_default_device())
        weights = dict(module.named_parameters()) | dict(module.named_buffers())
        weights = {name: torch.empty(x.shape, dtype=x.dtype, device=device) for name, x in weights.items()}
    elif case.gradient:  # called with the weights of the case themselves, whose gradients are asked for
        names = [name for name, _ in module.named_parameters(remove_duplicate=False)]
        weights = {name: case.state[name] for name in names if name in case.state}
    else:
        if case.rehearse:
            _first_call(module, inputs, named)
        return module(*inputs, **named)
    return torch.func.functional_call(module, weights, inputs, named)


def _first_call(module: nn.Module, inputs: tuple, named: dict) -> None:
    """Other inputs first: a layer that keeps its mask, or anything else of one call, answers the next one wrong."""

    def other(x: torch.Tensor) -> torch.Tensor:
        if x.is_floating_point():
            return torch.nan_to_num(x.detach(), neginf=0.0) + 1
        return torch.ones_like(x) if x.dtype is torch.bool else x.clone()

    def shorter(x: torch.Tensor) -> torch.Tensor:
        return other(x[:, :-1] if x.dim() == 2 and x.shape[1] > 1 else x)

    of_ids = not any(x.is_floating_point() for x in tensors((inputs, named)))
    for change in (shorter, other) if of_ids else (other,):
        first, rest = map_tensors(change, (inputs, named))
        with torch.no_grad(), contextlib.suppress(Exception):
            module(*first, **rest)


def _assembled(target: Callable, case: Case, inputs: tuple, named: dict) -> Any:
    """Lists of weights become models on the meta device."""
    return target(*[assemble(x) for x in inputs], **named)


def assemble(weights: list[tuple]) -> nn.Module:
    """A model of weights alone, on the meta device: rows of (path, shape, "trainable", "frozen" or "buffer").

    Or (path, path of an earlier row, "shared"), for one weight in two places.
    """
    root = nn.Module()
    for path, shape, kind in weights:
        *layers, name = path.split(".")
        place = root
        for layer in layers:
            if layer not in dict(place.named_children()):
                place.add_module(layer, nn.Module())
            place = place.get_submodule(layer)
        if kind == "shared":
            place.register_parameter(name, root.get_parameter(shape))
        elif kind == "buffer":
            place.register_buffer(name, torch.empty(shape, device="meta"))
        else:
            weight = nn.Parameter(torch.empty(shape, device="meta"), requires_grad=kind == "trainable")
            place.register_parameter(name, weight)
    return root


def _listing(target: Callable, case: Case, inputs: tuple, named: dict) -> Any:
    return list(islice(iter(target(*inputs, **named)), MAX_LISTED))


VERBS: dict[str, Callable] = {
    "call": _call,
    "models": _models,
    "assembled": _assembled,
    "module": _module,
    "networks": _networks,
    "listing": _listing,
    "trains": _trains,
    "draws": _draws,
}


def _build(target: Callable, case: Case, inputs: tuple) -> nn.Module:
    # Drawing first weights is no fault, and cannot be done on a pretended device. It is also half of the time.
    with (
        torch.random.fork_rng(devices=[]),
        _no_first_weights(),
        unset_fake_temporarily() if case.fake else contextlib.nullcontext(),
    ):
        module = target(*case.init)
        if not isinstance(module, nn.Module):
            raise Misnamed(f"it makes a {type(module).__name__}, not a torch.nn.Module")
        held = module.state_dict(keep_vars=True)
    state = case.state or {}
    own = dict(module.named_parameters())
    named = {id(held[name]) for name in state if name in held}  # a weight with two uses is listed by its first
    missing = sorted(set(state) - set(held))
    extra = sorted(name for name, weight in own.items() if name not in state and id(weight) not in named)
    if missing:
        raise Misnamed(f"it has no weight named {', '.join(missing[:4])}{_instead(extra)}")
    if extra:
        raise Misnamed(f"it has weights that the exercise does not name: {', '.join(extra[:4])}")
    first = {}
    for name, tensor in held.items():
        twin = first.setdefault(id(tensor), name) if name in state else name
        if twin != name:
            raise Misnamed(f"its {twin} and its {name} are one weight under two names")
        if name in state and tensor.shape != state[name].shape:
            wanted, found = tuple(state[name].shape), tuple(tensor.shape)
            raise Misnamed(f"its {name} has shape {found} where {wanted} is needed")
    if case.fake:
        return module.eval()
    # Filled in one by one: load_state_dict would go through hooks and names of the student's own.
    with torch.no_grad():
        for name, tensor in held.items():
            if name in state:
                tensor.data = state[name].to(tensor.device)
    example = (tensors(inputs) or list(state.values()))[0]
    dtype = next((x.dtype for x in state.values() if x.is_floating_point()), None)

    def fits(x: torch.Tensor) -> bool:
        return x.device == example.device and (dtype in (None, x.dtype) or not x.is_floating_point())

    if not all(map(fits, (*own.values(), *module.buffers()))):
        module = module.to(device=example.device, dtype=dtype)
    return module.eval()


@contextlib.contextmanager
def _no_first_weights() -> Iterator[None]:
    """torch's layers leave their weights as they come from memory: those of the case take their place."""
    kept = {name: getattr(nn.init, name) for name in FIRST_WEIGHTS}
    try:
        for name in kept:
            setattr(nn.init, name, lambda tensor, *_, **__: tensor)
        yield
    finally:
        for name, function in kept.items():
            setattr(nn.init, name, function)


def _instead(extra: list[str]) -> str:
    return f" (but one named {extra[0]})" if extra else ""


@contextlib.contextmanager
def _surroundings(case: Case, device: str, has_tensors: bool) -> Iterator[None]:
    """A function without a tensor argument works in torch's default dtype and on its default device.

    What a student's cells switched off before, or the answer leaves switched off, reaches no other answer.
    """
    before = torch.get_default_dtype()
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.enable_grad())
            if not has_tensors:
                torch.set_default_dtype(getattr(torch, case.dtype))
                stack.enter_context(torch.device(device))
            yield
    finally:
        torch.set_default_dtype(before)


def ask(target: Any, verb: str, case: Case, closed: tuple[str, ...] = (), device: str = "cpu") -> Answer:
    """Put one case to the student's object; whatever it does comes back as a plain `Answer`.

    `closed` names the functions and classes of the book that the object may not lean on while it answers.
    """
    with book.closed(closed) as opened:
        answer = _guard(lambda: _ask_fake(target, verb, case) if case.fake else _ask(target, verb, case, device))
    return replace(answer, status="book", note=opened[0]) if opened else answer


def _guard(answer: Callable[[], Answer]) -> Answer:
    try:
        return answer()
    except NotImplementedError as error:
        if _message(error):  # torch says this of its own kernels
            return Answer("error", note=_describe(error))
        return Answer("not attempted")
    except Misnamed as error:
        return Answer("names", note=str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Answer("error", note=_describe(error))


def _message(error: BaseException) -> str:
    try:
        text = str(error)
        return text[:2_000] if type(text) is str else ""
    except BaseException:
        return ""


def _describe(error: BaseException) -> str:
    """`IndexError: index 3 is out of range (line 4: return x[3])`, in one line."""
    text = " ".join(_message(error).split())[:300]
    where = ""
    with contextlib.suppress(Exception):
        frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_students(f.filename)]
        if frames:
            line = linecache.getline(frames[-1].filename, frames[-1].lineno).strip()[:120]
            where = f" (line {frames[-1].lineno}: {line})" if line else f" (line {frames[-1].lineno})"
    return f"{type(error).__name__[:80]}{': ' if text else ''}{text}{where}"


def _is_students(path: str) -> bool:
    return "site-packages" not in path and "/lib/python" not in path and not path.startswith(book.OURS)


def _ask(target: Any, verb: str, case: Case, device: str) -> Answer:
    dtype = getattr(torch, case.dtype)
    leaves: list[torch.Tensor] = []

    def put(x: torch.Tensor) -> torch.Tensor:
        x = x.to(device=device, dtype=dtype if x.is_floating_point() else None, copy=True)
        if case.gradient and x.is_floating_point():
            leaves.append(x.requires_grad_())
            return x.clone()  # a copy, so that changing it in place is possible, and seen
        return x

    inputs, named, state = map_tensors(put, (case.inputs, case.named, case.state))
    given = [*inputs, *named.values()]
    before = map_tensors(lambda x: x.detach().clone(), given)
    dice, flags = torch.get_rng_state(), [x.requires_grad for x in tensors(given)]
    left: set[str] = set()
    with _surroundings(case, device, bool(tensors(given))):
        dtype = torch.get_default_dtype()
        try:
            asked = target if verb == "module" else _watched(target, left)
            value = VERBS[verb](asked, replace(case, state=state), inputs, named)
        except Exception as error:
            if device != "cpu" and _mismatch(error):
                return Answer("value", device=_mismatch(error))
            raise
        left |= {"grad mode"} if not torch.is_grad_enabled() else set()
        left |= {"default dtype"} if torch.get_default_dtype() != dtype else set()
        left |= {"arguments"} if [x.requires_grad for x in tensors(given)] != flags else set()
        gradients = _gradients(value, leaves) if case.gradient else None
    stray = "" if device == "cpu" or all(x.device.type != "cpu" for x in tensors(value)) else STRAY
    random = not torch.equal(dice, torch.get_rng_state())
    changed = [i for i, (x, y) in enumerate(zip(given, before, strict=True)) if not _same(x, y)]
    return Answer("value", plain(value), "", gradients, changed, random, stray, sorted(left))


def _watched(target: Callable, left: set[str]) -> Callable:
    """The same, with what a call leaves changed of the models in its arguments added to `left`."""

    def asked(*inputs: Any, **named: Any) -> Any:
        models = [x for x in inputs if isinstance(x, nn.Module)]
        before = [_condition(model) for model in models]
        value = target(*inputs, **named)
        for model, was in zip(models, before, strict=True):
            now = _condition(model)
            left.update(kind for kind in was if not _alike(was[kind], now[kind]))
        return value

    return asked


def _condition(model: nn.Module) -> dict[str, dict]:
    """What a caller relies on to stay, each by name."""
    return {
        "mode": {name: module.training for name, module in model.named_modules()},
        "trainable": {name: weight.requires_grad for name, weight in model.named_parameters()},
        "weights": {name: x.detach().clone() for name, x in model.state_dict().items()},
    }


def _alike(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether all that was there is there still, and the same."""
    return all(name in now and (_on_meta(x) or _same(now[name], x)) for name, x in before.items())


def _on_meta(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.is_meta


def _same(x: Any, y: Any) -> bool:
    """Whether an argument is what it was, tensors in lists and lists themselves included."""
    if isinstance(y, torch.Tensor):
        return x.shape == y.shape and torch.equal(torch.nan_to_num(x.detach()), torch.nan_to_num(y))
    if type(x) is not type(y):
        return False
    if type(y) in (list, tuple):
        return len(x) == len(y) and all(map(_same, x, y))
    if type(y) is dict:
        return list(x) == list(y) and all(_same(x[key], y[key]) for key in y)
    return x is y or x == y


def _gradients(value: Any, leaves: list[torch.Tensor]) -> list:
    """Gradients of a fixed weighing of all floating outputs; None where nothing flows."""
    outputs = [x for x in tensors(value) if x.is_floating_point() and x.requires_grad]
    if not outputs or not leaves:
        return [None] * len(leaves)
    with torch.enable_grad():
        loss = sum((x * _weighing(x)).sum() for x in outputs)
    return [plain(g) for g in torch.autograd.grad(loss, leaves, allow_unused=True)]


def _weighing(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(1, x.numel() + 1, device=x.device, dtype=torch.float64).cos().to(x.dtype).view(x.shape)


def _mismatch(error: Exception) -> str:
    """What torch says of tensors on two devices; nothing of any other exception."""
    text = " ".join(_message(error).split())
    of_devices = type(error).__name__ in ("RuntimeError", "FakeTensorDeviceMismatchError", "TypeError")
    return text[:200] if of_devices and "device" in text.lower() else ""


def warm_up() -> None:
    """The first pretended GPU loads seconds' worth of modules: do it ahead, where nobody waits."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        x = torch.empty(1, 2, 2, device="cuda")
        torch.func.functional_call(nn.Linear(2, 2), {"weight": x[0], "bias": x[0, 0]}, (x,)).softmax(-1)


class _Meetings(TorchDispatchMode):
    """Notes whether tensors of two devices ever meet in one operation, which the meta device itself often lets pass."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        self.seen |= len({x.device.type for x in tensors((args, kwargs))}) > 1
        return func(*args, **kwargs or {})


def _ask_fake(target: Any, verb: str, case: Case) -> Answer:
    """On a pretended GPU a tensor that the student made on the CPU shows as a device mismatch.

    Only that counts: exceptions about values that depend on data say nothing. The meta device, a tenth of the work,
    acquits those whose every tensor is there and who raise nothing; the pretended GPU judges the rest.
    """
    with contextlib.suppress(Exception), _Meetings() as meetings:
        value = _put_on("meta", target, verb, case)
        if not meetings.seen and all(x.is_meta for x in tensors(value)):
            return Answer("value")
    message = ""
    with FakeTensorMode(allow_non_fake_inputs=True):
        try:
            value = _put_on("cuda", target, verb, case)
            message = STRAY if any(x.device.type != "cuda" for x in tensors(value)) else ""
        except Exception as error:
            message = _mismatch(error)
    return Answer("value", device=message)


def _put_on(device: str, target: Any, verb: str, case: Case) -> Any:
    """What it gives for inputs without values on a device that is not there."""

    def put(x: torch.Tensor) -> torch.Tensor:
        return torch.empty(x.shape, dtype=torch.float32 if x.is_floating_point() else x.dtype, device=device)

    inputs, named = map_tensors(put, (case.inputs, case.named))
    with _surroundings(replace(case, dtype="float32"), device, bool(tensors((inputs, named)))):
        return VERBS[verb](target, case, inputs, named)
