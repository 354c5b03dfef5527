"""Forty thousand robot-arm poses: fit a committee, read its error bars, draw a picture."""

import argparse
import os
import time

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import gaussian_kde, norm
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

import collegium
from collegium.datasets import make_robot_arm, robot_arm_distance
from collegium.metrics import coverage

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#8A8A8A"  # safe for the colour-blind
STYLE = {
    "font.size": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def committee(X, y, X_test, jobs):
    model = collegium.CommitteeRegressor(random_state=0, verbose=1, n_jobs=jobs).fit(X, y)
    return *model.predict(X_test, return_std=True), model


def baseline(model, X, y, X_test):
    """A model without error bars gets one width for all rows: its residuals' deviation."""
    std = np.std(y - model.fit(X, y).predict(X))
    return model.predict(X_test), np.full(len(X_test), std), model


def timed(run, *args):
    wall, cpu = time.perf_counter(), sum(os.times()[:4])  # CPU: this process and its children
    result = run(*args)
    return *result, time.perf_counter() - wall, sum(os.times()[:4]) - cpu


def rms(error):
    return np.sqrt(np.mean(error**2))


def log_density_and_interval(model, X, y, mean, std):
    """Log density and interval of the model, or of a normal where it has none."""
    if hasattr(model, "log_density"):
        return model.log_density(X, y).mean(), *model.predict_interval(X, coverage=0.95)
    return norm.logpdf(y, mean, std).mean(), *norm.interval(0.95, mean, std)


def print_table(rows, X, y):
    print(f"\n{'':22}{'RMSE':>9}{'NLPD':>9}{'95 % interval':>16}{'wall s':>9}{'CPU s':>9}")
    print("-" * 74)
    for name, (mean, std, model, wall, cpu) in rows.items():
        density, lower, upper = log_density_and_interval(model, X, y, mean, std)
        inside = 100 * coverage(y, lower, upper)
        scores = f"{rms(y - mean):9.4f}{-density:9.3f}{f'holds {inside:.1f} %':>16}"
        print(f"{name:22}{scores}{wall:9.1f}{cpu:9.1f}")
    print("-" * 74, "RMSE, NLPD: smaller is better; the interval should hold 95 %.\n", sep="\n")


def note(ax, x, y, text, **options):
    ax.text(x, y, text, transform=ax.transAxes, fontsize=9.5, **options)


def draw_predictions(ax, y, mean):
    words = f"typical error  {rms(y - mean):.3f}\nspread of y   {y.std():.3f}"
    y, mean = y[:4000], mean[:4000]
    density = gaussian_kde([y, mean])([y, mean])
    order = np.argsort(density)
    ends = (min(y.min(), mean.min()) - 0.03, max(y.max(), mean.max()) + 0.03)
    ax.plot(ends, ends, color=GREY, lw=1, zorder=0)
    ax.scatter(y[order], mean[order], c=density[order], s=7, cmap="viridis", lw=0)
    note(ax, 0.04, 0.96, words, va="top")
    ax.set(title="Poses it has never seen", xlim=ends, ylim=ends, box_aspect=1)
    ax.set(xlabel="measured distance", ylabel="predicted distance")


def draw_slice(ax, model, pose):
    """Turn the first joint of a pose through a full circle, past the angles in the data."""
    degrees = np.linspace(-180, 180, 361)
    X = np.tile(pose, (len(degrees), 1))
    X[:, 0] = np.radians(degrees)
    for level, alpha, label in [(0.95, 0.18, "95 % interval"), (0.68, 0.32, "68 % interval")]:
        band = model.predict_interval(X, coverage=level)
        ax.fill_between(degrees, *band, color=BLUE, alpha=alpha, lw=0, label=label)
    ax.plot(degrees, model.predict(X), color=BLUE, lw=2, label="prediction")
    ax.plot(degrees, robot_arm_distance(X), color=ORANGE, lw=2, ls=(0, (4, 2)), label="truth")
    for side in (-1, 1):
        ax.axvspan(side * 120, side * 180, color=GREY, alpha=0.13, lw=0, zorder=0)
        note(ax, 0.5 + side * 5 / 12, 0.03, "no data", ha="center")
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
    ax.plot([0, top], [0, top], color=GREY, lw=1, zorder=0)
    ax.plot(stated, real, "o-", color=BLUE, ms=7, lw=1.5, mec="white")
    words = "a dot is a tenth of the poses,\non the line if its error bars are right"
    note(ax, 0.96, 0.05, words, ha="right")
    ax.set(title="It knows when it does not know", xlim=(0, top), ylim=(0, top), box_aspect=1)
    ax.set(xlabel="error it expects (standard deviation)", ylabel="error it makes (RMS)")


def draw(path, model, y, mean, std, pose):
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(15, 4.7), layout="constrained")
        left, middle, right = fig.subplots(1, 3, width_ratios=[1, 1.4, 1])
        draw_predictions(left, y, mean)
        draw_slice(middle, model, pose)
        draw_honesty(right, y, mean, std)
        fig.get_layout_engine().set(wspace=0.04)
        fig.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=40_000, help="a tenth of them are for testing")
    parser.add_argument("--out", default="demo.png", help="where the picture goes")
    parser.add_argument("--jobs", type=int, default=2, help="chunks of data worked on at once")
    args = parser.parse_args()
    if args.rows < 100:
        parser.error("--rows must be at least 100")

    X, y = make_robot_arm(args.rows, random_state=0)
    n = args.rows - args.rows // 10
    X, X_test, y, y_test = X[:n], X[n:], y[:n], y[n:]
    print(f"Robot arm: {n} rows to learn from, {len(y_test)} to test, {X.shape[1]} joint angles")
    rows = {
        "predict the mean": timed(baseline, DummyRegressor(), X, y, X_test),
        "linear regression": timed(baseline, LinearRegression(), X, y, X_test),
        "committee": timed(committee, X, y, X_test, args.jobs),
    }
    mean, std, model, *_ = rows["committee"]
    print_table(rows, X_test, y_test)
    for name in ("kernel_", "noise_", "log_evidence_"):
        print(f"{name:15}{getattr(model, name)}")
    draw(args.out, model, y_test, mean, std, X_test[0])
    print(f"\nThe picture is in {args.out}")


if __name__ == "__main__":
    main()
