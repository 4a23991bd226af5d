"""08_fine_tuning: a pretrained body and a new head.

The models of these exercises travel as weights (`Network` in `ask.py`), and what became of them is told in plain
values: `{"result": …, "after": […]}`.
"""

import copy

import torch
from torch import nn

from autograder.exercise import exercise, holds, mistake
from helpers import finetune


def network(rng, vocab_size, d_model, n_outputs, n_layers=1, training=False, frozen=()):
    """A model of random weights, as it travels, with the names of those that are not trained."""
    weights = {"embedding.weight": rng.normal(vocab_size, d_model)}
    for i in range(n_layers):
        layer = f"encoder.{i}."
        weights |= {layer + "scale": rng.normal(d_model), layer + "heads.weight": rng.normal(d_model, d_model)}
        weights |= {layer + name: rng.normal(d_model) for name in ("heads.bias", "norm.weight", "norm.bias")}
    weights |= {"head.weight": rng.normal(n_outputs, d_model), "head.bias": rng.normal(n_outputs)}
    return {"weights": weights, "training": training, "frozen": frozen}


def _same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)


def _differing(state, weights):
    """Names of the entries that are not as they were."""
    return sorted(name for name in weights if name not in state or not _same(state[name], weights[name]))


def _trainable(given):
    """Names of the weights that can be trained when a model is handed over: buffers never can."""
    return sorted(name for name in given["weights"] if "scale" not in name and name not in given["frozen"])


def _mode_kept(told, given):
    """Whether all modules but the head are in the mode of the model that was given."""
    parts = ["", "embedding", "encoder", "encoder.0", "encoder.0.heads", "encoder.0.norm", "dropout"]
    return all((name in told["training"]) == given["training"] for name in parts)


# ---- swap_head ----


def _swapped(value, given, n_classes):
    """The facts about a copy with a new head: its weights are random, what they replace is not."""
    new, weights = value["result"], given["weights"]
    if type(new) is not dict:
        return {"model": False}
    state = new["state"]
    head = state.get("head.weight", torch.empty(0, 0))
    old = weights["head.weight"]
    return {
        "model": True,
        "itself": new["itself"],
        "original": _differing(value["after"][0]["state"], weights),
        "shared": [name for name in new["shared"] if not name.startswith("head.")],
        "again": new["again"],
        "names": sorted(set(state) ^ set(weights)),
        "head": list(head.shape) + list(state.get("head.bias", torch.empty(0)).shape),
        "old rows": head.shape[1:] == old.shape[1:] and any(_same(a, b.to(a.dtype)) for a in head for b in old),
        "reset": [name for name in _differing(state, weights) if not name.startswith("head.")],
        "dtype": head.dtype == old.dtype,
        "finite": all(bool(torch.isfinite(x).all()) for name, x in state.items() if name.startswith("head.")),
        "trainable": sorted(set(new["trainable"])),
        "mode": _mode_kept(new, given),
    }


def _then(change):
    """A deep copy of the model, changed by `change(copy, model, n_classes)`."""

    def version(model, n_classes):
        fresh = copy.deepcopy(model)
        return change(fresh, model, n_classes) or fresh

    return version


def _head(model, n_classes, **more):
    old = model.head.weight
    return nn.Linear(old.shape[1], n_classes, device=old.device, dtype=old.dtype, **more)


def _new_head(model, source, n_classes):
    model.head = _head(source, n_classes)


def _in_place(model, n_classes):
    _new_head(model, model, n_classes)
    return model


def _shallow(model, n_classes):
    fresh = copy.copy(model)
    _new_head(fresh, model, n_classes)
    return fresh


def _both(model, n_classes):
    _new_head(model, model, n_classes)
    return copy.deepcopy(model)


def _shared_body(model, n_classes):
    fresh = copy.copy(model)
    fresh._modules = dict(model._modules)
    _new_head(fresh, model, n_classes)
    return fresh


def _reset(fresh, model, n_classes):
    _new_head(fresh, model, n_classes)
    for module in fresh.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()


def _sliced(fresh, model, n_classes):
    _new_head(fresh, model, n_classes)
    n = min(n_classes, len(model.head.weight))
    with torch.no_grad():
        fresh.head.weight[:n] = model.head.weight[:n]
        fresh.head.bias[:n] = model.head.bias[:n]


def _stacked(fresh, model, n_classes):
    n_old = model.head.weight.shape[0]
    fresh.head = nn.Sequential(
        fresh.head, nn.Linear(n_old, n_classes, dtype=model.head.weight.dtype, device=model.head.weight.device)
    )


def _added(fresh, model, n_classes):
    fresh.classifier = _head(model, n_classes)


def _turned(fresh, model, n_classes):
    old = model.head.weight
    fresh.head = nn.Linear(n_classes, old.shape[1], device=old.device, dtype=old.dtype)


def _default_dtype(fresh, model, n_classes):
    fresh.head = nn.Linear(model.head.weight.shape[1], n_classes)


def _no_bias(fresh, model, n_classes):
    fresh.head = _head(model, n_classes, bias=False)


def _frozen_body(fresh, model, n_classes):
    fresh.requires_grad_(False)
    _new_head(fresh, model, n_classes)


def _frozen_all(fresh, model, n_classes):
    _new_head(fresh, model, n_classes)
    fresh.requires_grad_(False)


def _one_head(fresh, model, n_classes, kept={}):  # noqa: B006 (that is the mistake)
    old = model.head.weight
    fresh.head = kept.setdefault((old.shape[1], n_classes, old.dtype, old.device), _head(model, n_classes))


def _evaluating(fresh, model, n_classes):
    _new_head(fresh, model, n_classes)
    fresh.eval()


def _training(fresh, model, n_classes):
    _new_head(fresh, model, n_classes)
    fresh.train()


def _thawed(fresh, model, n_classes):
    _new_head(fresh, model, n_classes)
    fresh.requires_grad_(True)


@exercise("finetune.swap_head", points=2, minutes=10, difficulty=2, ask="networks")
class SwapHead:
    """A copy of the model with the same body and a new `head`, linear with a bias, for n_classes.

    The copy shares no weight with the original, which stays as it was, nor with other copies; its body is in the same
    mode and as trainable. The head's dtype and device are the old one's.
    """

    signature = "swap_head(model: nn.Module, n_classes: int) -> nn.Module; model.head is an nn.Linear"
    reference = finetune.swap_head
    measure = _swapped
    unique = False
    gradient = False
    fake = False
    may_use_global_random = True
    why = "A few hundred new numbers, and a model that has read millions of words is ready for another task."
    hints = [
        "Copy the whole model first, with all that lies in it, and then replace one part of the copy.",
        "`copy.deepcopy(model)`; assigning an `nn.Linear` to `.head` puts it in the old one's place.",
        "`nn.Linear(old.shape[1], n_classes, device=old.device, dtype=old.dtype)`, where old is `model.head.weight`.",
    ]

    def cases(rng):
        return [
            (network(rng, 7, 5, 7), 2),
            (network(rng, 7, 5, 3, n_layers=2, training=True), 3),
            (network(rng, 4, 3, 4, n_layers=2, frozen=("embedding.weight", "encoder.0.norm.bias")), 1),
            (network(rng, 11, 6, 5), rng.integer(7, 10)),
        ]

    properties = [
        holds("a model", lambda found, *given: found["model"], "`swap_head` gives a model back: `return` the copy."),
        holds(
            "a copy",
            lambda found, *given: not found["itself"],
            "You give back the model that you were given: start from `copy.deepcopy(model)`.",
        ),
        holds(
            "the original stays",
            lambda found, *given: not found["original"],
            "The original has changed too, and the pretrained model is lost: change a deep copy.",
        ),
        holds(
            "nothing shared",
            lambda found, *given: not found["shared"],
            "Copy and original share weights of the body, so training one changes the other: `copy.deepcopy(model)`.",
        ),
        holds(
            "the same names",
            lambda found, *given: not found["names"],
            "Your copy has not the names of the model: `head.weight` and `head.bias` are new, and nothing else is.",
        ),
        holds(
            "n_classes outputs",
            lambda found, given, n: found["head"] == [n, given["weights"]["head.weight"].shape[1], n],
            "The new head leads from the body's d_model features to n_classes: `nn.Linear(d_model, n_classes)`.",
        ),
        holds(
            "fresh",
            lambda found, *given: not found["old rows"],
            "Rows of the old head are in the new one, and they stand for tokens, not for classes: start it afresh.",
        ),
        holds(
            "the body stays",
            lambda found, *given: not found["reset"],
            "The body of your copy is not the original's, and what it learned is lost: only the head is new.",
        ),
        holds(
            "dtype",
            lambda found, *given: found["dtype"],
            "The new head has not the dtype of the old one, so the two parts do not fit: `dtype=old.dtype`.",
        ),
        holds(
            "finite",
            lambda found, *given: found["finite"],
            "The new head holds NaN or infinite numbers, which no training mends: start it as `nn.Linear` does.",
        ),
        holds(
            "nothing shared between copies",
            lambda found, *given: not found["again"],
            "Two copies that you make share weights, so training one changes the other: make all of them in the call.",
        ),
        holds(
            "trainable",
            lambda found, given, n: found["trainable"] == _trainable(given),
            "What can be trained in the original can be in the copy, the head too, and nothing else: leave "
            "`requires_grad` as `deepcopy` and `nn.Linear` make it.",
        ),
        holds(
            "mode",
            lambda found, *given: found["mode"],
            "The body of your copy is in another mode (training or evaluation) than the original's: `deepcopy` keeps "
            "it, so call neither `train()` nor `eval()`.",
        ),
    ]
    mistakes = [
        mistake(
            "in place",
            _in_place,
            "You put the new head into the model that you were given, and its old head is gone: "
            "change `copy.deepcopy(model)`.",
        ),
        mistake(
            "shallow copy",
            _shallow,
            "`copy.copy` copies the shell alone: both models hold the same layers, so the original got the new head "
            "too. `copy.deepcopy` copies what lies inside.",
        ),
        mistake(
            "copied too late",
            _both,
            "You copy after the head is replaced, so the original lost its own: copy first, and change the copy.",
        ),
        mistake(
            "body shared",
            _shared_body,
            "Your copy has a head of its own but the original's body, so fine-tuning would change the pretrained "
            "model as well: `copy.deepcopy(model)`.",
        ),
        mistake(
            "old head left",
            _then(lambda *given: None),
            "Your copy still has its old head, with an output for each token: assign a new `nn.Linear` to `.head`.",
        ),
        mistake(
            "body reset",
            _then(_reset),
            "You reset the whole copy, so nothing of pretraining is left: only the head starts afresh.",
        ),
        mistake(
            "old rows kept",
            _then(_sliced),
            "You keep rows of the old head as a start, but they are the scores of tokens 0, 1, …: they say nothing "
            "about classes. Leave the new `nn.Linear` as it is made.",
        ),
        mistake(
            "head on a head",
            _then(_stacked),
            "You put the new layer behind the old head, so the classifier reads scores of tokens rather than the "
            "body's features: replace the head.",
        ),
        mistake(
            "another name",
            _then(_added),
            "Your new layer has a name of its own, which the model never calls: assign it to `.head`.",
        ),
        mistake(
            "exchanged sizes",
            _then(_turned),
            "Your head leads from n_classes to d_model: `nn.Linear(inputs, outputs)` takes the inputs first.",
        ),
        mistake(
            "default dtype and device",
            _then(_default_dtype),
            "Your head is made in torch's default dtype and on the CPU, whatever the model is: give it the old "
            "head's, with `dtype=old.dtype, device=old.device` or `.to(old)`.",
        ),
        mistake(
            "no bias",
            _then(_no_bias),
            "Your head has no bias: leave `bias=False` out, so that classes may differ in how common they are.",
        ),
        mistake(
            "body frozen",
            _then(_frozen_body),
            "You froze the body on the way: here all of the copy stays trainable, and `freeze` is an exercise of "
            "its own.",
        ),
        mistake(
            "all frozen",
            _then(_frozen_all),
            "Nothing in your copy can be trained, not even the head: leave `requires_grad` as it is.",
        ),
        mistake(
            "body thawed",
            _then(_thawed),
            "You make all weights trainable, those too that the caller had frozen: a new `nn.Linear` is trainable by "
            "itself, so leave `requires_grad` alone.",
        ),
        mistake(
            "one head for all",
            _then(_one_head),
            "Your new head was made once and is handed to every copy (a default argument, or a name outside the "
            "function), so training one model changes the next: make the `nn.Linear` inside the call.",
        ),
        mistake(
            "copy in evaluation mode",
            _then(_evaluating),
            "You put the copy into evaluation mode, and its training would go without dropout: leave the mode as "
            "`deepcopy` brings it.",
        ),
        mistake(
            "copy in training mode",
            _then(_training),
            "You put the copy into training mode, though the model came in evaluation mode: leave the mode as "
            "`deepcopy` brings it, and let who trains call `train()`.",
        ),
        mistake(
            "the head alone",
            lambda model, n_classes: _head(model, n_classes),
            "You give back the head alone: put it into the copy, `copy.head = …`, and return the copy.",
        ),
        mistake(
            "nothing returned",
            lambda model, n_classes: None,
            "You return nothing (or a dictionary of weights): return the copy, which is a model.",
        ),
    ]


# ---- load_body ----


def _loaded(value, given, state):
    """The classifier's weights, and whether it and the caller's state are otherwise what they were."""
    new = value["result"]
    if type(new) is not dict:
        return {"model": False}
    kept = sorted(value["after"][1]) == sorted(state)
    return {
        "model": True,
        "state": new["state"],
        "kept": kept,
        "memory": "that of `state`" if new["borrowed"] else "its own",
        "requires_grad": "as before" if sorted(new["trainable"]) == _trainable(given) else "changed",
        "mode": "as before" if _mode_kept(new, given) else "changed",
    }


def _body(state):
    return {name: x for name, x in state.items() if not name.startswith("head.")}


def _head_entries(state):
    return {name: x for name, x in state.items() if name.startswith("head.")}


def _strict(classifier, state):
    classifier.load_state_dict({**state, **_head_entries(classifier.state_dict())})


def _load(change):
    def version(classifier, state):
        change(classifier, state)
        return classifier

    return version


def _fits(classifier, state, keep=lambda own, name, x: True):
    own = classifier.state_dict()
    return {name: x for name, x in _body(state).items() if keep(own, name, x)}


def _fitting_alone(classifier, state):
    same = _fits(classifier, state, lambda own, name, x: name in own and own[name].shape == x.shape)
    classifier.load_state_dict(same, strict=False)


def _missing_alone(classifier, state):
    missing, _ = classifier.load_state_dict(_body(state), strict=False)
    if [name for name in missing if not name.startswith("head.")]:
        raise ValueError(f"missing: {missing}")


def _unexpected_alone(classifier, state):
    _, unexpected = classifier.load_state_dict(_body(state), strict=False)
    if unexpected:
        raise ValueError(f"unexpected: {unexpected}")


def _checked(classifier, names, state):
    lacking, more = sorted(set(names) - set(_body(state))), sorted(set(_body(state)) - set(classifier.state_dict()))
    if lacking or more:
        raise ValueError(f"these weights do not fit: {lacking} are missing, {more} unexpected")


def _parameters_alone(classifier, state):
    own = _body(dict(classifier.named_parameters()))
    _checked(classifier, own, state)
    with torch.no_grad():
        for name, weight in own.items():
            if weight.shape != state[name].shape:
                raise ValueError(f"{name} has shape {tuple(state[name].shape)}")
            weight.copy_(state[name])


def _stretched(classifier, state):
    own = _body(classifier.state_dict())
    _checked(classifier, own, state)
    for name, weight in own.items():
        try:
            weight.copy_(state[name])
        except RuntimeError:
            raise ValueError(f"{name} does not fit") from None


def _reshaped(classifier, state):
    own = _body(classifier.state_dict())
    _checked(classifier, own, state)
    for name, weight in own.items():
        if weight.numel() != state[name].numel():
            raise ValueError(f"{name} does not fit")
        weight.copy_(state[name].reshape(weight.shape))


def _anywhere(classifier, state):
    rest = {name: x for name, x in state.items() if "head" not in name}
    classifier.load_state_dict({**classifier.state_dict(), **rest})


def _popped(classifier, state):
    for name in [name for name in state if name.startswith("head.")]:
        del state[name]
    _strict(classifier, state)


def _assigned(classifier, state):
    classifier.load_state_dict({**classifier.state_dict(), **_checked_body(classifier, state)}, assign=True)


def _then_frozen(classifier, state):
    _strict(classifier, _body(state))
    for name, weight in classifier.named_parameters():
        weight.requires_grad = name.startswith("head.")


def _then_evaluating(classifier, state):
    _strict(classifier, _body(state))
    classifier.eval()


def _checked_body(classifier, state):
    """The body's entries, whose names and shapes are right."""
    own, given = _body(classifier.state_dict()), _body(state)
    _checked(classifier, own, state)
    if any(own[name].shape != x.shape for name, x in given.items()):
        raise ValueError("another shape")
    return given


def _renamed_first(classifier, state):
    state = {name.removeprefix("module."): x for name, x in state.items()}
    _strict(classifier, _body(state))


@exercise("finetune.load_body", points=3, minutes=15, difficulty=3, ask="networks")
class LoadBody:
    """The classifier with the pretrained body: every entry of `state` is loaded but `head.*`, which is ignored.

    An entry of the body (weight or buffer) that is missing, unexpected or of another shape is refused with a
    ValueError (torch's own refusal of a state_dict is one too). The classifier keeps its own head, its mode, and what
    of it can be trained; `state` is left as it was and shares no memory with it.
    """

    signature = "load_body(classifier: nn.Module, state: dict of name -> Tensor) -> nn.Module (the classifier)"
    reference = finetune.load_body
    measure = _loaded
    may_change = ["weights"]
    gradient = False
    fake = False
    dtypes = []
    why = "Weights that do not load raise no alarm by themselves: a model from scratch just looks badly pretrained."
    hints = [
        "First leave out the head's entries: their names begin with `head.`, and no others do.",
        "`load_state_dict(…, strict=False)` says nothing of what is missing or unexpected: it returns both. Look.",
        "`missing, unexpected = classifier.load_state_dict(body, strict=False)`; the only names that may be missing "
        "are the head's. Shapes it checks itself.",
    ]

    def cases(rng):
        def case(v, d, c, old, layers, change=lambda state: None, **more):
            state = network(rng, v, d, old, layers)["weights"]
            change(state)
            return network(rng, v, d, c, layers, **more), state

        def without_head(state):
            del state["head.weight"], state["head.bias"]

        def without(name):
            return lambda state: state.pop(name)

        def other(name, *shape):
            return lambda state: state.update({name: rng.normal(*shape)})

        def prefixed(state):
            for name in list(state):
                state["module." + name] = state.pop(name)

        n = rng.integer(3, 6)
        return [
            case(7, 5, n, n, 1, training=True),
            case(5, 3, 2, 5, 1, without_head, frozen=("encoder.0.heads.weight",)),
            case(7, 5, 2, 7, 1, prefixed),
            case(7, 5, 2, 7, 1, without("encoder.0.heads.bias")),
            case(7, 5, 2, 7, 1, without("encoder.0.scale")),
            case(7, 5, 2, 7, 1, other("encoder.1.heads.bias", 5)),
            case(7, 5, 2, 7, 1, other("encoder.0.heads.bias", 1)),
            case(7, 5, 2, 7, 1, other("encoder.0.heads.weight", 1, 25)),
            case(7, 5, 2, 7, 2),
        ]

    properties = [
        holds("a model", lambda found, *given: found["model"], "Return the classifier itself, once it is loaded."),
        holds(
            "the head stays",
            lambda found, given, state: not _differing(_head_entries(found["state"]), _head_entries(given["weights"])),
            "The classifier's own head has changed: load what does not begin with `head.`, and nothing else.",
        ),
        holds(
            "the body is loaded",
            lambda found, given, state: not _differing(_body(found["state"]), _body(state)),
            "Some entries of the body are not those of `state`: weights and buffers are all to be loaded.",
        ),
        holds(
            "the state stays",
            lambda found, *given: found["kept"],
            "`state` has lost entries, and the caller may need them: make a new dictionary.",
        ),
        holds(
            "memory of its own",
            lambda found, *given: found["memory"] == "its own",
            "The classifier now lies in the memory of `state`, so training it changes the checkpoint: copy the "
            "numbers, as `load_state_dict` does by itself.",
        ),
        holds(
            "as trainable",
            lambda found, *given: found["requires_grad"] == "as before",
            "Other weights than before can be trained now: loading leaves `requires_grad` as it was.",
        ),
        holds(
            "mode",
            lambda found, *given: found["mode"] == "as before",
            "The classifier is in another mode than it came in: loading calls neither `train()` nor `eval()`.",
        ),
    ]
    mistakes = [
        mistake(
            "head loaded too",
            _load(lambda classifier, state: classifier.load_state_dict(state)),
            "You load the head as well, which answers another question: leave out what begins with `head.`, and "
            "do not ask for it.",
        ),
        mistake(
            "head loaded too, not strictly",
            _load(lambda classifier, state: classifier.load_state_dict(state, strict=False)),
            "`strict=False` forgives names, not shapes, and loads the head wherever it fits: leave out what begins "
            "with `head.`, and look at what the call returns.",
        ),
        mistake(
            "nothing said",
            _load(lambda classifier, state: classifier.load_state_dict(_body(state), strict=False)),
            "`strict=False` swallows what is missing and what is unexpected, so perhaps nothing was loaded and nobody "
            "was told: look at the two lists that the call returns, and raise.",
        ),
        mistake(
            "what fits alone",
            _load(_fitting_alone),
            "You load what fits and pass over the rest (or catch torch's error), so a wrong file gives an untrained "
            "body: raise where anything of the body does not fit.",
        ),
        mistake(
            "missing alone",
            _load(_missing_alone),
            "You refuse what is missing and let pass what is unexpected: the second list counts too.",
        ),
        mistake(
            "unexpected alone",
            _load(_unexpected_alone),
            "You refuse what is unexpected and let pass what is missing, which stays untrained: look at the first "
            "list, and forgive the head alone.",
        ),
        mistake(
            "buffers forgotten",
            _load(_parameters_alone),
            "You go through `named_parameters()`, where buffers are not: a body needs both, as in `state_dict()`.",
        ),
        mistake(
            "stretched",
            _load(_stretched),
            "`copy_` broadcasts: a bias with one entry was spread over all of yours. Compare shapes first.",
        ),
        mistake(
            "reshaped",
            _load(_reshaped),
            "You reshape what has another shape, and the numbers end in other places: compare shapes, and refuse.",
        ),
        mistake(
            "head anywhere",
            _load(_anywhere),
            "You leave out every name with `head` in it, and attention has `heads`: use `name.startswith('head.')`.",
        ),
        mistake(
            "entries taken away",
            _load(_popped),
            "You take the head's entries out of the caller's own `state`, which has lost them now: copy it first.",
        ),
        mistake(
            "assigned",
            _load(_assigned),
            "`assign=True` (or `weight.data = …`) puts the tensors of `state` themselves into the model, so training "
            "it changes the checkpoint: `load_state_dict` as it is, or `weight.copy_(…)`, copies the numbers.",
        ),
        mistake(
            "body frozen",
            _load(_then_frozen),
            "You freeze the body once it is loaded: whether it is trained is its caller's choice, and `freeze` an "
            "exercise of its own.",
        ),
        mistake(
            "left in evaluation mode",
            _load(_then_evaluating),
            "You leave the classifier in evaluation mode, and its training would go without dropout: loading needs no "
            "`eval()`.",
        ),
        mistake(
            "another prefix forgiven",
            _load(_renamed_first),
            "You rename entries until they fit: names that this body does not have are to be refused.",
        ),
        mistake(
            "what load_state_dict returns",
            lambda classifier, state: _strict(classifier, state) or None,
            "You give back what `load_state_dict` returns, or nothing: return the classifier.",
        ),
        mistake(
            "nothing loaded",
            lambda classifier, state: classifier,
            "Nothing was loaded: `state_dict()` makes a new dictionary, so changing that changes no model. "
            "`load_state_dict` is what copies into the model.",
        ),
    ]


# ---- freeze ----


def _frozen(value, given):
    """What can still be trained, and which weights changed."""
    after = value["after"][0]
    if type(after) is not dict:
        return {"trainable": None}
    return {"trainable": sorted(after["trainable"]), "changed": _differing(after["state"], given["weights"])}


def _where(rule):
    """Every weight trainable where `rule(name, weight)` says so."""

    def version(model):
        for name, weight in model.named_parameters():
            weight.requires_grad = rule(name, weight)
        return model

    return version


def _on_the_model(model):
    model.requires_grad = False


def _embedding_alone(model):
    model.embedding.requires_grad_(False)


def _encoder_alone(model):
    model.encoder.requires_grad_(False)


def _zeroed(model):
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not name.startswith("head."):
                weight.zero_().requires_grad_(False)


@exercise("finetune.freeze", points=1, minutes=5, difficulty=1, ask="networks")
class Freeze:
    """Leaves nothing trainable but `head`, in place: a linear probe of what the body knows.

    Shown on a classifier with the sources' sizes, 402 numbers stay: two classes of 200 weights and a bias each.
    """

    signature = "freeze(model: nn.Module) -> None or the model; model.head is an nn.Linear"
    reference = finetune.freeze
    measure = _frozen
    may_change = ["trainable", "mode", "weights"]  # weights are looked at below
    gradient = False
    fake = False
    why = "If 402 numbers on a frozen body do well, the body knew already: nothing else has learned."
    hints = [
        "Each parameter knows whether it is trained: what is that attribute called?",
        "`model.named_parameters()` gives names with them: the head's begin with `head.`.",
        "`weight.requires_grad = name.startswith('head.')`",
    ]

    def cases(rng):
        return [(network(rng, 7, 5, 2, 2),), (network(rng, 4, 3, 1, 1),), (network(rng, 5, 4, 5, 3, training=True),)]

    properties = [
        holds(
            "the head stays trainable",
            lambda found, given: {"head.weight", "head.bias"} <= set(found["trainable"]),
            "The head cannot be trained any more, and it is what a probe trains: weight and bias stay as they were.",
        ),
        holds(
            "the body is frozen",
            lambda found, given: found["trainable"] == ["head.bias", "head.weight"],
            "Some of the body can still be trained: set `requires_grad` to False on everything but `head.*`.",
        ),
        holds(
            "values stay",
            lambda found, given: not found["changed"],
            "Frozen means that weights stay as they are: some have other values now.",
        ),
    ]
    mistakes = [
        mistake(
            "nothing frozen",
            _on_the_model,
            "Nothing is frozen. `model.requires_grad = False` only adds an attribute to the module, `eval()` only "
            "switches dropout off: set it on each weight, or call `model.requires_grad_(False)`.",
        ),
        mistake(
            "all frozen",
            _where(lambda name, weight: False),
            "You froze the head too, so nothing is left to train: switch `model.head` on again.",
        ),
        mistake(
            "the head frozen",
            _where(lambda name, weight: not name.startswith("head.")),
            "You froze the head and left the body free: it is to be the other way round.",
        ),
        mistake(
            "head anywhere",
            _where(lambda name, weight: "head" in name),
            "You leave trainable whatever has `head` in its name, and attention has `heads`: "
            "use `name.startswith('head.')`.",
        ),
        mistake(
            "the bias frozen",
            _where(lambda name, weight: name == "head.weight"),
            "You froze the head's bias: it is part of the head.",
        ),
        mistake(
            "the weight frozen",
            _where(lambda name, weight: name == "head.bias"),
            "You froze the head's weight: of the head, weight and bias are both trained.",
        ),
        mistake(
            "the embedding alone",
            _embedding_alone,
            "You froze the embedding alone: the encoder's layers belong to the body too.",
        ),
        mistake(
            "the encoder alone",
            _encoder_alone,
            "You froze the encoder and left the embedding free, which has most of the numbers: it belongs to the "
            "body too.",
        ),
        mistake(
            "matrices alone",
            _where(lambda name, weight: name.startswith("head.") or weight.dim() < 2),
            "You froze the matrices and left the body's biases free: vectors are trained too.",
        ),
        mistake(
            "biases alone",
            _where(lambda name, weight: name.startswith("head.") or weight.dim() > 1),
            "You froze the body's vectors and left its matrices free: everything but the head is to be frozen.",
        ),
        mistake(
            "emptied",
            _zeroed,
            "You set the body's weights to zero: frozen weights keep what they have learned, and merely stop changing.",
        ),
    ]
