"""The picture of the demonstration: a robot arm, predicted with error bars."""

from __future__ import annotations

import numpy as np
from scipy.stats import gaussian_kde

from ..numerics.libraries import library
from .axes import FAINT, LINE, TRUTH, VALUES

STYLE = {
    "font.size": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw_demo(path, model, truth, y, mean, std, pose):
    """Write the picture: predictions, a slice through a pose with its truth, and error bars."""
    mpl = library("matplotlib", "plot", "a picture")
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(15, 4.7), layout="constrained")
        left, middle, right = fig.subplots(1, 3, width_ratios=[1, 1.4, 1])
        draw_predictions(left, y, mean)
        draw_slice(middle, model, truth, pose)
        draw_honesty(right, y, mean, std)
        fig.get_layout_engine().set(wspace=0.04)
        fig.savefig(path, dpi=150)


def rms(error):
    return np.sqrt(np.mean(error**2))


def _note(ax, x, y, text, **options):
    ax.text(x, y, text, transform=ax.transAxes, fontsize=9.5, **options)


def draw_predictions(ax, y, mean):
    words = f"typical error  {rms(y - mean):.3f}\nspread of y   {y.std():.3f}"
    y, mean = y[:4000], mean[:4000]
    density = gaussian_kde([y, mean])([y, mean])
    order = np.argsort(density)
    ends = (min(y.min(), mean.min()) - 0.03, max(y.max(), mean.max()) + 0.03)
    ax.plot(ends, ends, color=FAINT, lw=1, zorder=0)
    ax.scatter(y[order], mean[order], c=density[order], s=7, cmap=VALUES, lw=0)
    _note(ax, 0.04, 0.96, words, va="top")
    ax.set(title="Poses it has never seen", xlim=ends, ylim=ends, box_aspect=1)
    ax.set(xlabel="measured distance", ylabel="predicted distance")


def draw_slice(ax, model, truth, pose):
    """Turn the first joint of a pose through a full circle, past the angles in the data."""
    degrees = np.linspace(-180, 180, 361)
    X = np.tile(pose, (len(degrees), 1))
    X[:, 0] = np.radians(degrees)
    for level, alpha, label in [(0.95, 0.18, "95 % interval"), (0.68, 0.32, "68 % interval")]:
        band = model.predict_interval(X, coverage=level)
        ax.fill_between(degrees, *band, color=LINE, alpha=alpha, lw=0, label=label)
    ax.plot(degrees, model.predict(X), color=LINE, lw=2, label="prediction")
    ax.plot(degrees, truth(X), color=TRUTH, lw=2, ls=(0, (4, 2)), label="truth")
    for side in (-1, 1):
        ax.axvspan(side * 120, side * 180, color=FAINT, alpha=0.13, lw=0, zorder=0)
        _note(ax, 0.5 + side * 5 / 12, 0.03, "no data", ha="center")
    bottom, top = ax.get_ylim()
    ax.set(xlim=(-180, 180), ylim=(bottom, 1.2 * top - 0.2 * bottom), box_aspect=1 / 1.4)
    ax.set(title="Turning one joint, others fixed", xticks=range(-180, 181, 60))
    ax.set(xlabel="angle of the first joint (degrees)", ylabel="distance")
    ax.legend(loc="upper center", ncols=2, fontsize=9.5, frameon=False)


def draw_honesty(ax, y, mean, std):
    """Draw errors against stated deviations, in each tenth of the rows by stated deviation."""
    parts = np.array_split(np.argsort(std), 10)
    stated = [rms(std[part]) for part in parts]
    real = [rms(y[part] - mean[part]) for part in parts]
    top = 1.12 * max(stated + real)
    ax.plot([0, top], [0, top], color=FAINT, lw=1, zorder=0)
    ax.plot(stated, real, "o-", color=LINE, ms=7, lw=1.5, mec="white")
    words = "a dot is a tenth of the poses,\non the line if its error bars are right"
    _note(ax, 0.96, 0.05, words, ha="right")
    ax.set(title="It knows when it does not know", xlim=(0, top), ylim=(0, top), box_aspect=1)
    ax.set(xlabel="error it expects (standard deviation)", ylabel="error it makes (RMS)")
