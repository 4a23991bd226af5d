"""The training loop, on models that learn in a second."""

import pytest
import torch
from torch import nn

from helpers.models import LanguageModel
from helpers.training import IGNORED, Plan, Point, adamw, epochs_at, summed_loss, train, train_step, windows_at

SIZES = (11, 8, 2, 12, 1)
IDS = torch.arange(400) * 7 % 11


def fresh(dropout=0.0, seed=0):
    torch.manual_seed(seed)
    return LanguageModel(*SIZES, dropout=dropout)


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def stepped(accumulate=1, max_norm=None, batch=None):
    model = fresh()
    batch = windows_at(IDS, 5, 6)(0) if batch is None else batch
    loss = train_step(model, batch, torch.optim.SGD(model.parameters(), 0.5), max_norm, accumulate)
    return weights(model), loss


@pytest.mark.parametrize("accumulate", [2, 3, 5, 9])
@pytest.mark.parametrize("max_norm", [None, 0.1])
def test_a_batch_in_parts_gives_the_step_of_the_whole(accumulate, max_norm):
    whole, loss = stepped(1, max_norm)
    parts, same_loss = stepped(accumulate, max_norm)
    assert torch.allclose(whole, parts, atol=1e-6)
    assert torch.allclose(loss, same_loss, atol=1e-6)


def test_parts_count_by_their_predictions_not_their_rows():
    inputs, targets = windows_at(IDS, 4, 6)(0)
    targets = targets.clone()
    targets[0] = targets[1, 1:] = IGNORED
    assert torch.allclose(stepped(1, None, (inputs, targets))[0], stepped(4, None, (inputs, targets))[0], atol=1e-6)


def test_nothing_to_predict_changes_nothing():
    inputs, targets = windows_at(IDS, 4, 6)(0)
    after, loss = stepped(2, 1.0, (inputs, torch.full_like(targets, IGNORED)))
    assert torch.equal(after, weights(fresh()))
    assert loss == 0


def test_gradients_are_clipped_before_the_step():
    moved = stepped(1, 0.01)[0] - weights(fresh())
    assert torch.allclose(moved.norm(), torch.tensor(0.5 * 0.01), rtol=1e-4)


def test_it_learns_and_says_so():
    model = fresh()
    curve = train(
        model, windows_at(IDS, 8, 6), Plan(120, 1e-2, warmup=10, every=40), evaluate=lambda m: float(m.training)
    )
    assert [point.step for point in curve] == [40, 80, 120]
    assert curve[-1].loss < 0.3 * curve[0].loss
    assert [point.measured for point in curve] == [0, 0, 0]  # measured in evaluation mode
    assert model.training


@pytest.mark.parametrize("stop", [7, 20, 29])
def test_a_run_taken_up_again_gives_the_losses_of_one_that_never_stopped(tmp_path, stop):
    plan = Plan(30, 1e-2, warmup=5, every=4, save_every=3)
    whole = fresh(dropout=0.2)
    curve = train(whole, windows_at(IDS, 4, 6), plan)

    def breaks(step):
        if step == stop:
            raise KeyboardInterrupt
        return windows_at(IDS, 4, 6)(step)

    with pytest.raises(KeyboardInterrupt):
        train(fresh(dropout=0.2), breaks, plan, checkpoint=tmp_path / "run.pt")
    again = fresh(dropout=0.2, seed=5)
    assert train(again, windows_at(IDS, 4, 6), plan, checkpoint=tmp_path / "run.pt") == curve
    assert torch.equal(weights(again), weights(whole))


def test_a_run_leaves_the_global_dice_alone():
    model = fresh(dropout=0.2)
    before = torch.get_rng_state()
    train(model, windows_at(IDS, 4, 6), Plan(2))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("fault", ["plan", "model", "bytes"])
def test_a_checkpoint_that_does_not_fit_is_refused_in_a_sentence(tmp_path, fault):
    path, plan = tmp_path / "run.pt", Plan(4, save_every=2)
    train(fresh(), windows_at(IDS, 4, 6), plan, checkpoint=path)
    if fault == "bytes":
        path.write_bytes(b"no checkpoint")
    model = LanguageModel(12, *SIZES[1:]) if fault == "model" else fresh()
    with pytest.raises(ValueError, match=r"run\.pt is .*delete it"):
        train(model, windows_at(IDS, 4, 6), Plan(5, save_every=2) if fault == "plan" else plan, checkpoint=path)


def test_rates_rise_and_fall():
    for schedule, last in (("cosine", 0.1), ("inverse root", 0.1), ("constant", 1.0)):
        plan = Plan(1000, 2.0, warmup=10, schedule=schedule)
        rates = [plan.rate(step) for step in range(1000)]
        assert rates[0] == pytest.approx(0.2)
        assert max(rates) == pytest.approx(rates[9]) == pytest.approx(2.0)
        assert rates[-1] == pytest.approx(2.0 * last)
        assert rates[10:] == sorted(rates[10:], reverse=True)
    with pytest.raises(ValueError, match="cosine, inverse root, constant"):
        Plan(10, schedule="linear")


def test_each_example_once_an_epoch_and_another_order_in_the_next():
    at = epochs_at((torch.arange(10), torch.arange(10) % 2), 4)
    first, second = ([x for step in steps for x in at(step)[0].tolist()] for steps in (range(3), range(3, 6)))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert [len(at(step)[0]) for step in range(3)] == [4, 4, 2]


def test_windows_of_a_stream_know_their_targets():
    inputs, targets = windows_at(torch.arange(50), 6, 7, seed=3)(5)
    assert torch.equal(inputs + 1, targets)
    assert inputs.shape == (6, 7)
    with pytest.raises(ValueError, match="shorten the context"):
        windows_at(torch.arange(7), 6, 7)


def test_what_is_frozen_is_not_trained():
    model = fresh()
    model.requires_grad_(False)
    model.head.requires_grad_(True)
    before = model.embedding.weight.clone()
    train(model, windows_at(IDS, 4, 6), Plan(3, weight_decay=0.5))
    assert torch.equal(before, model.embedding.weight)
    assert sum(len(group["params"]) for group in adamw(model, Plan(3)).param_groups) == 2


def test_classes_are_predicted_by_the_same_loss():
    model = nn.Linear(3, 2)
    x, y = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    assert torch.allclose(summed_loss(model, (x, y)) / 5, nn.functional.cross_entropy(model(x), y))


def test_the_curve_says_what_it_shows():
    from matplotlib import pyplot

    from helpers.progress import curve_figure

    figure, alt = curve_figure("a run", [Point(10, 3.0, 2.5), Point(20, 1.5, 2.0)])
    assert alt == "a run: loss 3.00 → 1.50 in 20 steps. On held-out data 2 is measured."
    assert [axes.get_xlabel() for axes in figure.axes] == ["step", "step"]
    assert all(axes.get_ylabel() for axes in figure.axes)
    pyplot.close(figure)
