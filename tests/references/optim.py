"""Stores what PyTorch's optimizers and schedulers make of given gradients (optim.safetensors)."""

import argparse
import pathlib
import warnings

import torch

from store import Store

STEPS = 10
RUNS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.05}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.05, "nesterov": True}),
    ("SGD", {"lr": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.1, "dampening": 0.1, "maximize": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.05, "betas": [0.8, 0.95], "eps": 1e-3}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True}),
    ("Adam", {"lr": 0.01, "maximize": True}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.05, "betas": [0.8, 0.95], "eps": 1e-3}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.0}),
    ("AdamW", {"lr": 0.01, "amsgrad": True}),
    ("AdamW", {"lr": 0.01, "maximize": True}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
]
SCHEDULERS = [
    ("StepLR", {"step_size": 3}),
    ("StepLR", {"step_size": 2, "gamma": 0.5}),
    ("CosineAnnealingLR", {"T_max": 5}),
    ("CosineAnnealingLR", {"T_max": 8, "eta_min": 0.02}),
]


def optimize(store, label, name, options, dtype):
    """One run over three parameters; the last gets no gradient at every third step."""
    generator = torch.Generator().manual_seed(17)
    shapes = [(3, 2), (4,), ()]
    parameters = [torch.randn(s, dtype=torch.float64, generator=generator).to(dtype).requires_grad_() for s in shapes]
    gradients = [torch.randn((STEPS, *s), dtype=torch.float64, generator=generator).to(dtype) for s in shapes]
    initial = [p.detach().clone() for p in parameters]
    optimizer, after = getattr(torch.optim, name)(parameters, **options, foreach=False), [[], [], []]
    for step in range(STEPS):
        for i, parameter in enumerate(parameters):
            parameter.grad = None if i == 2 and step % 3 == 1 else gradients[i][step].clone()
        optimizer.step()
        for values, parameter in zip(after, parameters):
            values.append(parameter.detach().clone())
    return {
        "optimizer": name, "options": options, "dtype": str(dtype).removeprefix("torch."),
        "parameters": [{
            "initial": store.add(f"{label}/initial{i}", initial[i]), "grads": store.add(f"{label}/grads{i}", gradients[i]),
            "absent": [step for step in range(STEPS) if i == 2 and step % 3 == 1],
            "after": store.add(f"{label}/after{i}", torch.stack(after[i]))} for i in range(3)],
    }


def schedule(name, options):
    """The rates of two groups before the first step and after each of twelve."""
    groups = [{"params": [torch.zeros(1, requires_grad=True)]}, {"params": [torch.zeros(1, requires_grad=True)], "lr": 0.5}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, **options)
    rates = [[group["lr"] for group in optimizer.param_groups]]
    for _ in range(12):
        optimizer.step()
        scheduler.step()
        rates.append([group["lr"] for group in optimizer.param_groups])
    return {"scheduler": name, "options": options, "initial": [0.1, 0.5], "rates": rates}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=pathlib.Path(__file__).parent / "data", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    store, runs = Store(), []
    for name, settings in RUNS:
        for dtype in (torch.float64, torch.float32):
            runs.append(optimize(store, f"{name}{len(runs)}", name, settings, dtype))
    schedules = [schedule(name, settings) for name, settings in SCHEDULERS]
    store.save(options.out / "optim.safetensors", runs=runs, schedules=schedules, version=torch.__version__)
    print(f"{len(runs)} runs, {len(schedules)} schedules")


if __name__ == "__main__":
    main()
