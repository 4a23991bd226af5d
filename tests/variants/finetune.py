"""finetune.*: right versions written otherwise, and more wrong ones."""

import copy
import io

import torch
from torch import nn

from helpers import models

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
    return fresh


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


def _swap_with_a_default(model, n_classes, heads=nn.ModuleDict()):  # noqa: B008
    fresh = copy.deepcopy(model)
    if str(n_classes) not in heads:
        heads[str(n_classes)] = _linear(model, n_classes)
    fresh.head = heads[str(n_classes)]
    return fresh


def _swap_thawing_the_body(fresh, model):
    for weight in fresh.parameters():
        weight.requires_grad = True


def _swap_evaluating_the_original(model, n_classes):
    model.eval()
    return _swap_by_memo(model, n_classes)


def _swap_freezing_the_original(model, n_classes):
    fresh = _swap_by_memo(model, n_classes)
    model.requires_grad_(False)
    return fresh


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


def _load_by_data(classifier, state):
    """The model lives in the memory of the state."""
    classifier = _load_by_loop(classifier, state)
    for name, weight in classifier.named_parameters():
        if not name.startswith("head."):
            weight.data = state[name]
    return classifier


def _load_buffers_as_they_are(classifier, state):
    classifier = _load_by_loop(classifier, state)
    for i, layer in enumerate(classifier.encoder):
        layer.scale = state[f"encoder.{i}.scale"]
    return classifier


def _load_new_parameters(classifier, state):
    """New ones of the right values: all of them trainable."""
    classifier = _load_by_loop(classifier, state)
    for name, weight in list(classifier.named_parameters()):
        place, _, last = name.rpartition(".")
        setattr(classifier.get_submodule(place), last, nn.Parameter(weight.detach().clone()))
    return classifier


def _load_assigning_copies(classifier, state):
    """Right: what is assigned is the model's own."""
    rest = {k: x.clone() for k, x in state.items() if not k.startswith("head.")}
    own = {k: x for k, x in classifier.state_dict().items() if k.startswith("head.")}
    classifier.load_state_dict(rest | own, assign=True)
    return classifier


def _load_then(change):
    def version(classifier, state):
        classifier = _load_both_lists(classifier, state)
        change(classifier)
        return classifier

    return version


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


# ---- pool ----


def _pool_by_rows(hidden, padding_mask, how):
    rows = []
    for states, mask in zip(hidden, padding_mask, strict=True):
        real = states[mask]
        rows.append({"last": real[-1], "first": real[0], "mean": real.mean(0)}[how])
    return torch.stack(rows)


def _pool_by_argmax(hidden, padding_mask, how):
    if how == "mean":
        weights = padding_mask / padding_mask.sum(1, keepdim=True)
        return torch.einsum("bt,btd->bd", weights.to(hidden.dtype), hidden)
    place = padding_mask.cumsum(1).argmax(1) if how == "last" else padding_mask.int().argmax(1)
    return hidden[torch.arange(len(hidden), device=hidden.device), place]


def _pool_by_gather(hidden, padding_mask, how):
    if how == "mean":
        return hidden.masked_fill(~padding_mask.unsqueeze(-1), 0).sum(1) / padding_mask.sum(1).unsqueeze(1)
    steps = torch.arange(hidden.shape[1], device=hidden.device)
    place = (padding_mask * (steps + 1)).amax(1) - 1 if how == "last" else (~padding_mask * 1).cumprod(1).sum(1)
    return hidden.gather(1, place.view(-1, 1, 1).expand(-1, 1, hidden.shape[2])).squeeze(1)


def _pool_sided(right):
    """Right if pads stand on one side, and wrong on the other."""

    def version(hidden, padding_mask, how):
        n = padding_mask.sum(1)
        if how == "mean":
            return _pool_by_argmax(hidden, padding_mask, how)
        if right:
            place = n - 1 if how == "last" else n * 0
        else:
            place = n * 0 + hidden.shape[1] - 1 if how == "last" else hidden.shape[1] - n
        return hidden[torch.arange(len(hidden)), place]

    return version


def _pool_detached(hidden, padding_mask, how):
    return _pool_by_argmax(hidden.detach(), padding_mask, how)


def _pool_in_place(hidden, padding_mask, how):
    hidden[~padding_mask] = 0
    return _pool_by_argmax(hidden, padding_mask, how)


def _pool_one_too_many(hidden, padding_mask, how):
    found = _pool_by_argmax(hidden, padding_mask, how)
    n = padding_mask.sum(1, keepdim=True)
    return found * n / (n + 1) if how == "mean" else found


def _pool_float32(hidden, padding_mask, how):
    return _pool_by_argmax(hidden.float(), padding_mask, how)


def _pool_median(hidden, padding_mask, how):
    return _pool_by_rows(hidden, padding_mask, how) if how != "mean" else hidden.median(1).values


def _pool_first_text(hidden, padding_mask, how):
    return _pool_by_argmax(hidden, padding_mask[:1].expand_as(padding_mask), how)


# ---- evaluate ----


def _evaluate_at_once(model, batches):
    was = model.training
    model.train(False)
    with torch.inference_mode():
        hits = torch.cat([model(ids).argmax(1).eq(labels) for ids, labels in batches])
    model.train(was)
    return hits.double().mean()


def _evaluate_modes(model, batches):
    """The mode of each module by itself."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    right, total = 0, 0
    for ids, labels in batches:
        guesses = model(ids).softmax(-1).max(-1).indices
        right, total = right + (guesses == labels).sum().item(), total + labels.numel()
    for module, mode in modes.items():
        module.training = mode
    return right / total


def _evaluate_a_copy(model, batches):
    model = copy.deepcopy(model).eval()
    hits = [bool(model(ids[None])[0].topk(1).indices == y) for b in batches for ids, y in zip(*b, strict=True)]
    return sum(hits) / len(hits)


def _evaluate_weighted(model, batches):
    was = model.training
    model.eval()
    n = sum(len(y) for _, y in batches)
    found = sum((model(x).argmax(-1) == y).double().mean().item() * len(y) / n for x, y in batches)
    if was:
        model.train()
    return found


def _evaluate_dropping_the_last(model, batches):
    return _evaluate_at_once(model, batches[:-1] if len(batches) > 1 else batches)


def _evaluate_rounded(model, batches):
    return round(float(_evaluate_at_once(model, batches)), 1)


def _evaluate_two_classes(model, batches):
    was = model.training
    model.eval()
    hits = torch.cat([(model(ids)[:, 1] > model(ids)[:, 0]).long() == labels for ids, labels in batches])
    model.train(was)
    return hits.double().mean().item()


def _evaluate_over_the_batch(model, batches):
    was = model.training
    model.eval()
    found = [(model(ids).argmax(0), labels) for ids, labels in batches]
    model.train(was)
    return sum(int((a[: len(y)] == y[: len(a)]).sum()) for a, y in found) / sum(len(y) for _, y in found)


def _evaluate_head_only(model, batches):
    """Evaluation mode for a part that has no dropout."""
    model.head.eval()
    return _mean(model, batches)


def _evaluate_then(change):
    """Right, and then something that is not its business."""

    def version(model, batches):
        found = _evaluate_weighted(model, batches)
        change(model)
        return found

    return version


def _nudged(model):
    with torch.no_grad():
        model.head.bias[0] += 1e-3


def _scaled_buffer(model):
    model.encoder[-1].scale *= 1.01


def _thaw(model):
    for weight in model.parameters():
        weight.requires_grad = True


def _evaluate_in_place(model, batches):
    """It shifts the caller's labels."""
    found = _evaluate_weighted(model, batches)
    for _, labels in batches:
        labels += 1
    return found


def _evaluate_with_requires_grad_off(model, batches):
    for weight in model.parameters():
        weight.requires_grad = False
    found = _evaluate_weighted(model, batches)
    for weight in model.parameters():
        weight.requires_grad = True
    return found


def _evaluate_children(model, batches):
    was = model.training
    for child in model.children():
        child.eval()
    found = _mean(model, batches)
    model.train(was)
    return found


def _evaluate_restoring_outside_alone(model, batches):
    was = model.training
    found = _mean(model.eval(), batches)
    model.training = was
    return found


def _evaluate_restoring_children_alone(model, batches):
    was = model.training
    found = _mean(model.eval(), batches)
    for child in model.children():
        child.train(was)
    return found


def _mean(model, batches):
    hits = torch.cat([model(ids).argmax(1) == labels for ids, labels in batches])
    return hits.double().mean().item()


def _pool_by_places(way):
    """One way only looks for its token among places that lie on the CPU."""

    def version(hidden, padding_mask, how):
        if how != way:
            return models.pool(hidden, padding_mask, how)
        places, none = torch.arange(hidden.shape[1]), -1 if how == "last" else hidden.shape[1]
        found = torch.where(padding_mask, places, none)  # (B, T)
        at = found.amax(1) if how == "last" else found.amin(1)  # (B,)
        return hidden[torch.arange(len(hidden)), at]

    return version


VARIANTS = {
    "finetune.pool": [_pool_by_rows, _pool_by_argmax, _pool_by_gather],
    "finetune.evaluate": [_evaluate_at_once, _evaluate_modes, _evaluate_a_copy, _evaluate_weighted],
    "finetune.swap_head": [_swap_by_saving, _swap_by_setattr, _swap_with_zeros, _swap_by_memo],
    "finetune.load_body": [
        _load_both_lists,
        _load_with_own_head,
        _load_part_by_part,
        _load_by_loop,
        _load_into_a_copy,
        _load_assigning_copies,
    ],
    "finetune.freeze": [_freeze_by_identity, _freeze_children, _freeze_by_detaching],
}
WRONG = {
    "finetune.pool": [
        _pool_sided(right=True),
        _pool_sided(right=False),
        _pool_detached,
        _pool_in_place,
        _pool_one_too_many,
        _pool_float32,
        _pool_median,
        _pool_first_text,
        _pool_by_places("last"),
        _pool_by_places("first"),
        lambda hidden, padding_mask, how: hidden,
    ],
    "finetune.evaluate": [
        _evaluate_dropping_the_last,
        _evaluate_rounded,
        _evaluate_two_classes,
        _evaluate_over_the_batch,
        _evaluate_head_only,
        _evaluate_in_place,
        _evaluate_with_requires_grad_off,
        _evaluate_children,
        _evaluate_restoring_outside_alone,
        _evaluate_restoring_children_alone,
        _evaluate_then(_nudged),
        _evaluate_then(_scaled_buffer),
        _evaluate_then(_thaw),
        _evaluate_then(lambda model: model.encoder.requires_grad_(False)),
        _evaluate_then(lambda model: model.dropout.eval()),
        _evaluate_then(lambda model: torch.set_grad_enabled(False)),
        _evaluate_then(lambda model: torch.set_default_dtype(torch.float16)),
        lambda model, batches: 0.8,
        lambda model, batches: 1.0,
        lambda model, batches: [_evaluate_at_once(model, batches)],
    ],
    "finetune.swap_head": [
        _swap_resized,
        _swap_one_more,
        _swap_hidden_layer,
        _swap_only_if_other,
        _swap_with_a_default,
        _swap_evaluating_the_original,
        _swap_freezing_the_original,
        _swap_then(_swap_thawing_the_body),
        _swap_then(lambda fresh, model: fresh.train()),
        _swap_then(lambda fresh, model: fresh.encoder.eval()),
        _swap_then(lambda fresh, model: fresh.encoder.requires_grad_(False)),
        _swap_then(lambda fresh, *_: nn.init.constant_(fresh.head.weight, torch.nan)),
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
        _load_by_data,
        _load_buffers_as_they_are,
        _load_new_parameters,
        _load_then(lambda model: model.encoder.requires_grad_(False)),
        _load_then(lambda model: model.eval()),
        _load_then(lambda model: model.train()),
        _load_then(lambda model: model.dropout.eval()),
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
