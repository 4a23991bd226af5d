"""finetune.*: right versions written otherwise, and more wrong ones."""

import copy
import io

import torch
from torch import nn

# ---- swap_head ----


def _linear(model, n_classes):
    return nn.Linear(model.head.in_features, n_classes).to(model.head.weight)


def _swap_by_saving(model, n_classes):
    memory = io.BytesIO()
    torch.save(model, memory)
    memory.seek(0)
    fresh = torch.load(memory, weights_only=False)
    fresh.head = _linear(model, n_classes)
    return fresh


def _swap_by_setattr(model, n_classes):
    fresh = copy.deepcopy(model)
    setattr(fresh, "head", _linear(fresh, n_classes))  # noqa: B010
    return fresh.train()


def _swap_with_zeros(model, n_classes):
    fresh = copy.deepcopy(model)
    old = fresh.head.weight
    fresh.head = nn.Linear(old.shape[1], n_classes)
    fresh.head.weight = nn.Parameter(old.new_zeros(n_classes, old.shape[1]))
    fresh.head.bias = nn.Parameter(old.new_zeros(n_classes))
    return fresh


def _swap_by_memo(model, n_classes):
    """The head is handed to deepcopy as already copied."""
    return copy.deepcopy(model, {id(model.head): _linear(model, n_classes)})


def _swap_then(change):
    def version(model, n_classes):
        fresh = copy.deepcopy(model)
        fresh.head = _linear(model, n_classes)
        change(fresh, model)
        return fresh

    return version


def _swap_resized(model, n_classes):
    fresh = copy.deepcopy(model)
    fresh.head.out_features = n_classes
    return fresh


def _swap_one_more(model, n_classes):
    fresh = copy.deepcopy(model)
    fresh.head = _linear(model, n_classes + 1)
    return fresh


def _swap_hidden_layer(model, n_classes):
    fresh = copy.deepcopy(model)
    d = model.head.in_features
    fresh.head = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, n_classes)).to(model.head.weight)
    return fresh


def _swap_only_if_other(model, n_classes):
    fresh = copy.deepcopy(model)
    if n_classes != model.head.out_features:
        fresh.head = _linear(model, n_classes)
    return fresh


def _half_shared(fresh, model):
    fresh.embedding = model.embedding


def _buffers_emptied(fresh, model):
    for buffer in fresh.buffers():
        buffer.zero_()


def _old_bias(fresh, model):
    fresh.head.weight = nn.Parameter(model.head.weight[: fresh.head.out_features].detach().clone())


# ---- load_body ----


def _load_both_lists(classifier, state):
    rest = {name: x for name, x in state.items() if name.split(".")[0] != "head"}
    missing, unexpected = classifier.load_state_dict(rest, strict=False)
    missing = [name for name in missing if name.split(".")[0] != "head"]
    if missing or unexpected:
        raise ValueError(f"missing {missing}, unexpected {unexpected}")
    return classifier


def _load_with_own_head(classifier, state):
    own = {k: x for k, x in classifier.state_dict().items() if k.startswith("head.")}
    classifier.load_state_dict({k: x for k, x in state.items() if not k.startswith("head.")} | own)  # strictly
    return classifier


def _load_part_by_part(classifier, state):
    """Each child but the head loads its own entries, strictly."""
    names = [name for name, _ in classifier.named_children() if name != "head"]
    stray = [k for k in state if k.split(".")[0] not in [*names, "head"]]
    if stray:
        raise ValueError(f"unexpected {stray}")
    for name in names:
        part = {k.removeprefix(f"{name}."): x for k, x in state.items() if k.startswith(f"{name}.")}
        classifier.get_submodule(name).load_state_dict(part)
    return classifier


def _load_by_loop(classifier, state):
    own = {k: x for k, x in classifier.state_dict().items() if not k.startswith("head.")}
    rest = {k: x for k, x in state.items() if not k.startswith("head.")}
    if own.keys() != rest.keys():
        raise ValueError(f"these entries do not match: {sorted(own.keys() ^ rest.keys())}")
    for name, x in rest.items():
        if x.shape != own[name].shape:
            raise ValueError(f"{name} has another shape")
        own[name].copy_(x)
    return classifier


def _load_into_a_copy(classifier, state):
    return _load_both_lists(copy.deepcopy(classifier), state)


def _load_and_assert(classifier, state):
    rest = {k: x for k, x in state.items() if not k.startswith("head.")}
    missing, unexpected = classifier.load_state_dict(rest, strict=False)
    assert not unexpected and all(k.startswith("head.") for k in missing)
    return classifier


def _load_and_empty_the_head(classifier, state):
    classifier = _load_both_lists(classifier, state)
    with torch.no_grad():
        classifier.head.weight.zero_()
    return classifier


def _load_sizes_alone(classifier, state):
    if len(state) != len(classifier.state_dict()):
        raise ValueError("another number of entries")
    return _load_both_lists(classifier, state)


def _load_weights_alone(classifier, state):
    rest = {k: x for k, x in state.items() if k.endswith("weight") and not k.startswith("head.")}
    classifier.load_state_dict(rest, strict=False)
    return classifier


def _load_by_order(classifier, state):
    own = [x for k, x in classifier.state_dict().items() if not k.startswith("head.")]
    for mine, theirs in zip(own, [x for k, x in state.items() if not k.startswith("head.")], strict=False):
        if mine.shape == theirs.shape:
            mine.copy_(theirs)
    return classifier


# ---- freeze ----


def _freeze_by_identity(model):
    kept = {id(weight) for weight in model.head.parameters()}
    for weight in model.parameters():
        if id(weight) not in kept:
            weight.requires_grad_(False)


def _freeze_children(model):
    for name, child in model.named_children():
        for weight in child.parameters():
            weight.requires_grad = name == "head"
    return model.eval()


def _freeze_by_detaching(model):
    for name, weight in model.named_parameters():
        if name.split(".")[0] != "head":
            weight.detach_()


def _freeze_gradients(model):
    for weight in model.parameters():
        weight.grad = None
    return model


def _freeze_uncalled(model):
    for name, weight in model.named_parameters():
        if not name.startswith("head."):
            weight.requires_grad_  # noqa: B018
    return model


def _freeze_a_copy(model):
    model = copy.deepcopy(model)
    _freeze_by_identity(model)
    return model


def _freeze_first_layer_left(model):
    _freeze_by_identity(model)
    model.encoder[-1].requires_grad_(True)


def _freeze_norms_left(model):
    for name, weight in model.named_parameters():
        weight.requires_grad = name.startswith("head.") or "norm" in name


VARIANTS = {
    "finetune.swap_head": [_swap_by_saving, _swap_by_setattr, _swap_with_zeros, _swap_by_memo],
    "finetune.load_body": [
        _load_both_lists,
        _load_with_own_head,
        _load_part_by_part,
        _load_by_loop,
        _load_into_a_copy,
    ],
    "finetune.freeze": [_freeze_by_identity, _freeze_children, _freeze_by_detaching],
}
WRONG = {
    "finetune.swap_head": [
        _swap_resized,
        _swap_one_more,
        _swap_hidden_layer,
        _swap_only_if_other,
        _swap_then(_half_shared),
        _swap_then(_buffers_emptied),
        _swap_then(_old_bias),
        lambda model, n_classes: model,
        lambda model, n_classes: copy.deepcopy(model).state_dict(),
    ],
    "finetune.load_body": [
        _load_and_assert,
        _load_and_empty_the_head,
        _load_sizes_alone,
        _load_weights_alone,
        _load_by_order,
        lambda classifier, state: None,
    ],
    "finetune.freeze": [
        _freeze_gradients,
        _freeze_uncalled,
        _freeze_a_copy,
        _freeze_first_layer_left,
        _freeze_norms_left,
        lambda model: model.eval(),
    ],
}
