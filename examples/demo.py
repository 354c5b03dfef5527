"""Forty thousand robot-arm poses: fit a committee, read its error bars, draw a picture.

    python examples/demo.py --rows 40000 --out demo.png --jobs 2
"""

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
from collegium.metrics import coverage, nlpd

BLUE, ORANGE, INK, GREY = "#0072B2", "#D55E00", "#222222", "#8A8A8A"  # safe for the colour-blind
STYLE = {
    "font.size": 10.5,
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


def committee(X, y, X_test, jobs):
    model = collegium.CommitteeRegressor(random_state=0, verbose=1, n_jobs=jobs).fit(X, y)
    mean, std = model.predict(X_test, return_std=True)
    return mean, std, model


def baseline(model, X, y, X_test):
    """A model without error bars gets one width for all rows: its residuals' deviation."""
    model.fit(X, y)
    std = np.std(y - model.predict(X))
    return model.predict(X_test), np.full(len(X_test), std), model


def clocks():
    return time.perf_counter(), sum(os.times()[:4])  # wall; CPU of this process and its children


def timed(run, *args):
    wall, cpu = clocks()
    result = run(*args)
    wall_end, cpu_end = clocks()
    return *result, wall_end - wall, cpu_end - cpu


def print_table(rows, y):
    half = norm.ppf(0.975)
    print(f"\n{'':22}{'RMSE':>9}{'NLPD':>9}{'95 % interval':>16}{'wall s':>9}{'CPU s':>9}")
    print("-" * 74)
    for name, (mean, std, _, wall, cpu) in rows.items():
        rmse = np.sqrt(np.mean((y - mean) ** 2))
        inside = 100 * coverage(y, mean - half * std, mean + half * std)
        scores = f"{rmse:9.4f}{nlpd(y, mean, std):9.3f}{f'holds {inside:.1f} %':>16}"
        print(f"{name:22}{scores}{wall:9.1f}{cpu:9.1f}")
    print("-" * 74)
    print("RMSE, NLPD: smaller is better. The 95 % interval should hold 95 %.\n")


def draw_predictions(ax, y, mean):
    y, mean = y[:4000], mean[:4000]
    density = gaussian_kde([y, mean])([y, mean])
    order = np.argsort(density)
    ends = [min(y.min(), mean.min()), max(y.max(), mean.max())]
    ax.plot(ends, ends, color=GREY, lw=1, zorder=0)
    ax.scatter(y[order], mean[order], c=density[order], s=7, cmap="viridis", lw=0)
    rmse = np.sqrt(np.mean((y - mean) ** 2))
    ax.text(0.04, 0.95, f"RMSE {rmse:.3f}\nspread of y {y.std():.3f}", transform=ax.transAxes, va="top")
    ax.set(title="Rows it has never seen", xlabel="true distance", ylabel="predicted distance")
    ax.set_aspect("equal", adjustable="datalim")


def draw_slice(ax, model, pose, limit, joint=2):
    """Turn one joint of a pose through a full circle, past the angles in the data."""
    angle = np.linspace(-np.pi, np.pi, 361)
    X = np.tile(pose, (len(angle), 1))
    X[:, joint] = angle
    degrees = np.degrees(angle)
    for level, alpha in [(0.95, 0.18), (0.68, 0.32)]:
        lower, upper = model.predict_interval(X, coverage=level)
        label = f"{level:.0%} interval"
        ax.fill_between(degrees, lower, upper, color=BLUE, alpha=alpha, lw=0, label=label)
    ax.plot(degrees, model.predict(X), color=BLUE, lw=2, label="prediction")
    ax.plot(degrees, robot_arm_distance(X), color=ORANGE, lw=2, ls=(0, (4, 2)), label="truth")
    for side in (-1, 1):
        ax.axvspan(side * np.degrees(limit), side * 180, color=GREY, alpha=0.13, lw=0, zorder=0)
    ax.set(title="Turning one joint", xlabel=f"angle of joint {joint + 1} (degrees)")
    ax.set(ylabel="distance", xlim=(-180, 180), xticks=range(-180, 181, 60))
    ax.legend(loc="upper center", ncols=2, fontsize=9)


def draw_honesty(ax, y, mean, std, groups=10):
    """Sort the rows by stated deviation; in each group the real error should be as large."""
    parts = np.array_split(np.argsort(std), groups)
    stated = np.array([np.sqrt(np.mean(std[part] ** 2)) for part in parts])
    real = np.array([np.sqrt(np.mean((y - mean)[part] ** 2)) for part in parts])
    top = 1.12 * max(stated.max(), real.max())
    ax.plot([0, top], [0, top], color=GREY, lw=1, zorder=0)
    ax.plot(stated, real, "o-", color=BLUE, ms=7, lw=1.5, mec="white")
    ax.set(title="It knows when it does not know", xlim=(0, top), ylim=(0, top), aspect="equal")
    ax.set(xlabel="stated standard deviation", ylabel="real error (RMS)")


def draw(path, model, y, mean, std, pose, limit):
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(15, 4.8), layout="constrained")
        left, middle, right = fig.subplots(1, 3, width_ratios=[1, 1.35, 1])
        draw_predictions(left, y, mean)
        draw_slice(middle, model, pose, limit)
        draw_honesty(right, y, mean, std)
        fig.get_layout_engine().set(wspace=0.06)
        fig.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=40_000, help="a tenth of them are for testing")
    parser.add_argument("--out", default="demo.png", help="where the picture goes")
    parser.add_argument("--jobs", type=int, default=2, help="chunks of data worked on at once")
    args = parser.parse_args()
    if args.rows < 100:
        parser.error("--rows must be at least 100")

    X, y = make_robot_arm(args.rows, random_state=0)
    n = args.rows - args.rows // 10
    X_test, y_test = X[n:], y[n:]
    print(f"Robot arm: {n} rows to learn from, {len(y_test)} to test, {X.shape[1]} joint angles")
    rows = {
        "predict the mean": timed(baseline, DummyRegressor(), X[:n], y[:n], X_test),
        "linear regression": timed(baseline, LinearRegression(), X[:n], y[:n], X_test),
        "committee": timed(committee, X[:n], y[:n], X_test, args.jobs),
    }
    mean, std, model, *_ = rows["committee"]
    print_table(rows, y_test)
    print(f"kernel_        {model.kernel_}\nnoise_         {model.noise_}")
    print(f"log_evidence_  {model.log_evidence_}")
    draw(args.out, model, y_test, mean, std, X_test[0], np.abs(X).max())
    print(f"\nThe picture is in {args.out}")


if __name__ == "__main__":
    main()
