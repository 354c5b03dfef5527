"""A map of canopy height: fit, map, forget a strip of points, and map again.

python examples/canopy.py                         # a generated scene
python examples/canopy.py --data chm_simes.npz    # X: east and north in metres, y: height

Needs pip install 'collegium[geo,plot]'. The certificate is printed, and the maps before and after
are drawn side by side into canopy.png.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from collegium import CommitteeRegressor, Ledger

STRIPS = 12


def generated(n: int, seed: int = 0) -> pd.DataFrame:
    """Laser points over a wood with a lake, a track and crowns of trees."""
    rng = np.random.default_rng(seed)
    east, north = rng.uniform(0, 600, n), rng.uniform(0, 400, n)
    stand = 20 + 4 * np.sin(east / 90) + 3 * np.cos((north + east / 3) / 70)  # age of the wood
    crowns = 2.5 * np.sin(east / 9) * np.sin(north / 8 + np.sin(east / 40))
    track = np.exp(-(((north - 140 - 50 * np.sin(east / 120)) / 10) ** 2))
    height = (stand + crowns) * (1 - 0.8 * track) + rng.normal(0, 1.2, n)
    lake = ((east - 430) / 70) ** 2 + ((north - 290) / 45) ** 2 < 1  # water sends nothing back
    table = pd.DataFrame({"east": 731_000 + east, "north": 4_713_000 + north, "height": height})
    return table[~lake]


def of_file(path: str, n: int) -> pd.DataFrame:
    """Some of the points of a file, drawn at random."""
    with np.load(path) as data:
        X, y = data["X"], data["y"]
    some = np.sort(np.random.default_rng(0).permutation(len(y))[:n])
    return pd.DataFrame({"east": X[some, 0], "north": X[some, 1], "height": y[some]})


def strips(table: pd.DataFrame) -> np.ndarray:
    """The strip of a flight that each point is of, from west to east."""
    edges = np.quantile(table["east"], np.linspace(0, 1, STRIPS + 1)[1:-1])
    return np.array([f"strip {k + 1:02d}" for k in np.searchsorted(edges, table["east"])])


def main(data: str | None, rows: int, output: str) -> None:
    table = generated(rows) if data is None else of_file(data, rows)
    model = CommitteeRegressor(n_local=64, random_state=0, n_jobs=2)
    model.fit(table[["east", "north"]], table["height"])
    print(model.summary(), end="\n\n")
    step = np.ptp(table["east"]) / 150
    where = {"x": {"east": step}, "y": {"north": step}, "attrs": {"units": "m"}}
    with tempfile.TemporaryDirectory() as folder:
        told = {"path": Path(folder, "wood.clgdb"), "ids": strips(table), "target": "height"}
        with Ledger.of(model, table, **told) as ledger:
            before = ledger.model().predict_grid(**where)
            print(ledger.forget("strip 04", reason="the owner withdrew consent"), end="\n\n")
            after = ledger.model().predict_grid(**where)
    gone = table["east"][strips(table) == "strip 04"]
    inside = (before["east"] > gone.min()) & (before["east"] < gone.max())
    for name, part in (("in the strip", inside), ("elsewhere", ~inside)):
        sd = [float(one["sd"].where(part).mean()) for one in (before, after)]
        print(f"mean sd {name:<12}  {sd[0]:.2f} m before, {sd[1]:.2f} m after")
    draw(before, after, output)
    print(f"maps: {output}")


def draw(before, after, path: str) -> None:
    """Means above, white where they are extrapolations, and standard deviations below."""
    import matplotlib.pyplot as plt

    extent = [float(before[name][k]) for name in ("east", "north") for k in (0, -1)]
    fig, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained", sharex=True, sharey=True)
    for name, line in zip(("mean", "sd"), axes):
        low, high = (float(after[name].quantile(q)) for q in (0.005, 0.995))
        shown = {"origin": "lower", "extent": extent, "vmin": low, "vmax": high}
        for word, found, ax in zip(("before", "after"), (before, after), line):
            values = found["mean"].where(~found["outside"]) if name == "mean" else found["sd"]
            image = ax.imshow(values, interpolation="nearest", **shown)
            ax.set_title(f"{'mean' if name == 'mean' else 'standard deviation'} {word}")
            ax.ticklabel_format(useOffset=False, style="plain")
            ax.locator_params(nbins=4)
        fig.colorbar(image, ax=line, label="m", shrink=0.9)
    for ax in axes[-1]:
        ax.set_xlabel("east (m)")
    fig.savefig(path, dpi=72)
    plt.close(fig)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="an .npz file with X (east, north) and y; default: a scene")
    parser.add_argument("--rows", type=int, default=20_000, help="points that are taken")
    parser.add_argument("-o", "--output", default="canopy.png", help="where the maps are drawn")
    asked = parser.parse_args()
    main(asked.data, asked.rows, asked.output)
