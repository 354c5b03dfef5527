"""Gain curves: how the error falls with the number of anchors, by rule of selection."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.papers.experiments import save
from benchmarks.papers.schwaighofer2002.methods import Data, Hyper, fold, remaining, srm
from collegium import select_anchors
from collegium.learning.anchors import measured

#: Where nothing is tuned.
CURVES = Hyper((2.0,), 1.0, 0.05)


def curves(data: Data, hyper: Hyper, most: int, path: Path) -> None:
    """Remaining variance of the rows, and error on test rows, against the number of anchors."""
    f = fold(data, 0)
    numbers = [m for m in (25, 50, 100, 200, 400, 700, 1000) if m <= most]
    print(f"\nGain curves on {data.name}, fold 0, {hyper}: share of Σ var f(x) left, and remaining")
    print("variance in %, with so many anchors")
    print(f"  {'rule':18}" + "".join(f"{m:>16}" for m in numbers))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3))
    for i, rule in enumerate(("random", "sgma", "postapp", "pivoted-cholesky")):
        kernel = hyper.given["kernel"]
        chosen = select_anchors(
            f.X, f.y, kernel=kernel, noise=hyper.noise, rule=rule, n_anchors=most, random_state=0
        )
        if rule == "postapp":
            at = np.arange(1, len(chosen.gains) + 1)
            left.plot(at, chosen.remaining, f"C{i}:", label="postapp, share of Σ y² left")
            chosen = measured(kernel.for_width(f.X.shape[1]), f.X, chosen)
        share = chosen.remaining
        left.plot(np.arange(1, len(share) + 1), share, f"C{i}-", label=rule)
        errors = [remaining(f, srm(f, hyper, chosen.Z[:m]).mean) for m in numbers]
        right.loglog(numbers, errors, f"C{i}-o", ms=3, label=rule)
        print(
            f"  {rule:18}"
            + "".join(f"{share[m - 1]:8.3f}{e:8.2f}" for m, e in zip(numbers, errors))
        )
    left.set(yscale="log", xlabel="anchors", ylabel="share of the total variance left")
    right.set(xlabel="anchors", ylabel="remaining variance on test rows, %")
    right.set_xticks(numbers, [str(m) for m in numbers])
    steps = (5, 7, 10, 15, 20, 30, 40, 50, 70, 100)
    for ax, ticks in ((left, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]), (right, steps)):
        low, high = ax.get_ylim()
        ticks = [t for t in ticks if low <= t <= high]
        ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
        ax.xaxis.set_minor_formatter(plt.NullFormatter())
        ax.yaxis.set_minor_formatter(plt.NullFormatter())
        ax.grid(alpha=0.3)
        ax.legend()
    figure.suptitle(f"{data.name}: how many anchors do I need?")
    figure.tight_layout()
    save(figure, path)
