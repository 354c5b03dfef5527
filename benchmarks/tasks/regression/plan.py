"""Plan of `make bench`: the data sets, our configurations, the exact GP and the peers."""

from __future__ import annotations

from benchmarks.harness.task import Method, Task

SETS = (
    "kin40k",
    "protein",
    "kin8nm",
    "abalone",
    "powerplant",
    "naval",
    "cal_housing",
    "fried",
    "wine_red",
    "wine_red_distinct",
    "bike_hour",
    "elevators",
    "pol",
    "keggdirected",
    "keggdirected_distinct",
    "heaton_satellite",
    "flights_nyc13",
    "chm_simes",
)  # fmt: skip
#: Sets that are made from the file of another.
FILES: dict[str, str | None] = {
    "wine_red_distinct": "wine_red",
    "keggdirected_distinct": "keggdirected",
}
#: Sets whose RMSE is given in the units of y, too: others publish it so.
ORIGINAL_UNITS = {"heaton_satellite": "°C", "chm_simes": "m"}

#: What the default adds to the committee, left out: one noise, one kernel, y and X as they come.
CONSTANT = {"noise": "constant", "learn": True, "transforms": None}
#: Our configurations: arguments of CommitteeRegressor.
OURS: dict[str, dict] = {
    "collegium": {},
    "collegium, constant noise": CONSTANT,
    "collegium fast": {"n_local": 0},
    "collegium 2 s": {"limits": 2},
    "collegium 5 s": {"limits": 5},
    "collegium 50 s": {"limits": 50},
    "collegium exact means": {"inference": "cg"},
}
#: Groups of those that are no point of the front of accuracy and time, but another mode.
OTHER_MODES = {"collegium fast": "bare", "collegium, constant noise": "constant"}
#: Those of ours that are run on some sets only.
LARGEST = ("heaton_satellite", "flights_nyc13", "chm_simes")
SMALLER = tuple(name for name in SETS if name not in LARGEST)
OURS_ONLY_ON: dict[str, tuple[str, ...]] = {
    "collegium 2 s": SMALLER,
    "collegium 5 s": SMALLER,
    "collegium 50 s": SMALLER,
    "collegium exact means": ("kin40k",),
}
#: Rows of the exact GP, smallest first.
SUBSETS = (2_500, 5_000, 10_000, 20_000)


def _ours() -> dict[str, Method]:
    return {
        name: Method(
            "regression.ours",
            given,
            OURS_ONLY_ON.get(name),
            group=OTHER_MODES.get(name, "ours"),
        )
        for name, given in OURS.items()
    }


def _exact() -> dict[str, Method]:
    found = {
        f"exact GP, {size:,} rows": Method(
            "regression.exact_subset", {}, max_rows=size, needs_more_than=smaller, group="exact"
        )
        for smaller, size in zip((0, *SUBSETS), SUBSETS)
    }
    found["exact GP, all rows, our kernel"] = Method(
        "regression.exact_ours", {}, ("kin40k",), group="same"
    )
    return found


#: Bounds on rows are such that a run stays within half an hour of one thread and 16 GB.
PEERS: dict[str, Method] = {
    "GPBoost": Method("regression.gpboost_vecchia", max_rows=500_000, packages=("gpboost",)),
    "GPBoost ARD": Method(
        "regression.gpboost_vecchia", {"ard_rows": 3_000}, max_rows=500_000, packages=("gpboost",)
    ),
    "MuyGPyS": Method("regression.muygpys", packages=("MuyGPyS",)),
    "GPyTorch SGPR": Method(
        "regression.gpytorch_sgpr",
        {"inducing": 512},
        max_rows=100_000,
        packages=("gpytorch", "torch"),
    ),
    "GPyTorch SVGP": Method(
        "regression.gpytorch_svgp", {"inducing": 1024}, packages=("gpytorch", "torch")
    ),
    "LightGBM": Method("regression.lightgbm_trees", packages=("lightgbm",)),
    "LightGBM quantiles": Method(
        "regression.lightgbm_quantiles", max_rows=500_000, packages=("lightgbm",)
    ),
    "CatBoost": Method("regression.catboost_trees", max_rows=500_000, packages=("catboost",)),
    "CatBoost RMSE": Method(
        "regression.catboost_trees", {"loss": "RMSE"}, max_rows=500_000, packages=("catboost",)
    ),
    "NGBoost": Method("regression.ngboost_normal", max_rows=100_000, packages=("ngboost",)),
    "quantile forest": Method(
        "regression.quantile_forest_trees", max_rows=300_000, packages=("quantile-forest",)
    ),
}
#: Peers that predict quantiles, and have no density.
QUANTILES = ("LightGBM quantiles", "quantile forest")
METHODS: dict[str, Method] = {**_ours(), **_exact(), **PEERS}
TASK = Task(
    "regression", SETS, METHODS, files=FILES,
    line="RMSE {RMSE:.4f}  NLPD {NLPD:.3f}  CRPS {CRPS:.4f}  covers {coverage:.1%}  "
    "|z| {median_z:.2f}",
)  # fmt: skip
