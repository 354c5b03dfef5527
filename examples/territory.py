"""Claims by territory: counts with exposure on a map, and whether intervals hold in each region.

python examples/territory.py
python examples/territory.py --data claims.csv    # columns lon, lat, exposure, claims, region

Needs pip install 'collegium[geo,plot]'. A row is a postcode: how many years its policies were in
force, and how many claims came in. The map of the claim rate is drawn into territory.png.
"""

import argparse

import numpy as np
import pandas as pd

from collegium import CommitteeRegressor
from collegium.kernels import Matern32, Sphere


def generated(n: int, seed: int = 0) -> pd.DataFrame:
    """Postcodes of a country on both sides of the date line, with two towns where more happens."""
    rng = np.random.default_rng(seed)
    east, lat = rng.uniform(172, 188, n), rng.uniform(-22, -12, n)
    towns = sum(
        np.exp(-0.5 * ((east - x) ** 2 + (lat - y) ** 2) / s**2)
        for x, y, s in ((178.5, -17.8, 1.2), (183.0, -14.5, 0.8))
    )
    rate = np.exp(-2.6 + 1.2 * towns + 0.3 * np.sin(east) + 0.06 * (lat + 17))
    exposure = rng.lognormal(4.5, 1.0, n)
    region = np.where(lat > -17, "north", "south") + np.where(east < 180, "-west", "-east")
    return pd.DataFrame({
        "lon": np.where(east > 180, east - 360, east), "lat": lat,
        "exposure": exposure, "claims": rng.poisson(exposure * rate), "region": region,
    })  # fmt: skip


def main(data: str | None, rows: int, output: str) -> None:
    table = generated(rows) if data is None else pd.read_csv(data)
    place = ["lon", "lat"]
    held_out = np.random.default_rng(1).random(len(table)) < 0.3
    known, new = table[~held_out], table[held_out]
    model = CommitteeRegressor(
        Sphere(Matern32, geographic=True), likelihood="poisson", random_state=0, n_jobs=2
    )
    model.fit(known[place], known["claims"], exposure=known["exposure"])
    print(model.summary(), end="\n\n")
    asked = {"exposure": new["exposure"]}
    lower, upper = model.predict_interval(new[place], 0.9, **asked)
    told = new.assign(
        expected=model.predict(new[place], **asked),
        inside=(lower <= new["claims"]) & (new["claims"] <= upper), postcodes=1,
    )  # fmt: skip
    groups = told.groupby("region")
    found = groups[["postcodes", "exposure", "claims", "expected"]].sum().round().astype(int)
    found["in 90 % intervals"] = groups["inside"].mean().map("{:.0%}".format)
    print(f"postcodes that were held out (all: {told['inside'].mean():.0%} in 90 % intervals)")
    print(found.to_string())
    draw(model, table, output)
    print(f"\nmap: {output}")


def draw(model, table: pd.DataFrame, path: str) -> None:
    """Claims per year, and how well they are known; longitudes beyond 180 run on."""
    import matplotlib.pyplot as plt

    lon = table["lon"].where(table["lon"] > 0, table["lon"] + 360)
    if np.ptp(lon) > np.ptp(table["lon"]):
        lon = table["lon"]
    sides = {
        name: (v.min(), v.max(), np.ptp(v) / 150)
        for name, v in (("lon", lon), ("lat", table["lat"]))
    }
    rate = model.predict_grid(
        {"lon": sides["lon"]}, {"lat": sides["lat"]}, level="function", exposure=1.0
    )
    fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    extent = (*sides["lon"][:2], *sides["lat"][:2])
    for ax, name in zip(axes, ("mean", "sd")):
        image = ax.imshow(rate[name], origin="lower", extent=extent, aspect="auto")
        ax.set_title("claims per year and policy" if name == "mean" else "its standard deviation")
        ax.set_xlabel("longitude")
        ax.plot(lon, table["lat"], ".", color="white", markersize=1, alpha=0.5)
        fig.colorbar(image, ax=ax)
    axes[0].set_ylabel("latitude")
    fig.savefig(path, dpi=80)
    plt.close(fig)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="CSV with lon, lat, exposure, claims and region")
    parser.add_argument("--rows", type=int, default=1_000, help="postcodes that are generated")
    parser.add_argument("-o", "--output", default="territory.png", help="where the map is drawn")
    asked = parser.parse_args()
    main(asked.data, asked.rows, asked.output)
