"""Errors at equal budgets: who is best after 2, 5, 15 and 60 CPU seconds of fitting?

python -m benchmarks.studies.budgets ../shared/data [--sets kin40k] [--picture docs/pictures]

Every method is fitted to more and more of the training rows, as long as its fit stays within the
largest budget; ours also with `limits`. At each budget a method has the best of its fits within it,
by its own NLPD on the test rows, or the better of that and the NLPD of a t fitted to its held-out
errors: peers are not asked to know beforehand which of their fits will do best. Results are stored
as they come, in benchmarks/results/budgets.json; what is stored is not run again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.driver import RESULTS, is_there, run
from benchmarks.harness.machine import machine, total_gigabytes
from benchmarks.harness.pictures import STYLE, save
from benchmarks.harness.tables import table
from benchmarks.tasks.regression.pictures import OURS, PEER_STYLES
from benchmarks.tasks.regression.plan import TASK

SETS = ("kin40k", "protein", "cal_housing", "powerplant")
BUDGETS = (2.0, 5.0, 15.0, 60.0)
#: Our configurations, cheapest first, each on all rows.
OWN = ("collegium 2 s", "collegium 5 s", "collegium", "collegium 50 s")
PEERS = ("LightGBM", "CatBoost", "CatBoost RMSE", "GPBoost", "MuyGPyS")
#: Shares of the training rows that peers are fitted to, fewest first.
SHARES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
FILE = RESULTS / "budgets.json"


def measure(options: argparse.Namespace) -> dict:
    """Run what is not stored; all results, by set and method."""
    found = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in (name for name in options.sets if is_there(options.folder, TASK.file(name))):
        own = found.setdefault(name, {})
        for method in OWN:
            if method not in own:
                own[method] = [one(name, method, None, options)]
                keep(found)
        for method in (method for method in PEERS if method not in own):
            own[method] = ladder(name, method, own["collegium"][0]["n_available"], options)
            keep(found)
    return found


def keep(found: dict) -> None:
    FILE.write_text(json.dumps(found, indent=1) + "\n")


def ladder(name: str, method: str, n: int, options: argparse.Namespace) -> list[dict]:
    """Fit a peer to more and more rows, until its fit exceeds the largest budget."""
    found: list[dict] = []
    for share in SHARES:
        found.append(one(name, method, int(share * n), options))
        if "failed" in found[-1] or found[-1]["fit_cpu_s"] > BUDGETS[-1]:
            break
    return found


def one(name: str, method: str, rows: int | None, options: argparse.Namespace) -> dict:
    given = ["--seed", str(options.seed), "--threads", str(options.threads)]
    given += [] if rows is None else ["--rows", str(rows)]
    row = run([TASK.name, str(options.folder), name, method], given, options)
    if "fit_cpu_s" not in row:
        row = {"failed": row.get("failed") or row.get("skipped")}
    else:
        kept = ("fit_cpu_s", "predict_cpu_s", "RMSE", "NLPD", "NLPD_t", "n_train", "n_available")
        row = {key: row[key] for key in kept if key in row} | {"machine": machine()}
    print(f"{name:12} {method:16} {row}", flush=True)
    return row


def density(row: dict) -> float:
    """NLPD as told, or with a fitted t where that is better."""
    return min(row["NLPD"], row.get("NLPD_t", row["NLPD"]))


def best(rows: list[dict], budget: float) -> dict | None:
    """The fit of lowest NLPD within a budget; None where there is none."""
    within = [row for row in rows if row.get("fit_cpu_s", budget + 1.0) <= budget]
    return min(within, key=density) if within else None


def lines(found: dict) -> list[dict]:
    """One line per set and method: RMSE / NLPD at every budget; a peer that is ahead of ours in
    both is marked."""
    made = []
    for name, own in found.items():
        ours = [row for method in OWN for row in own[method]]
        for method, rows in (
            ("collegium", ours),
            *((peer, own[peer]) for peer in PEERS if peer in own),
        ):
            line = {"set": name, "method": method}
            for budget in BUDGETS:
                line[f"{budget:g} s"] = cell(best(rows, budget), best(ours, budget))
            made.append(line)
    return made


def cell(row: dict | None, ours: dict | None) -> str:
    if row is None:
        return "–"
    words = f"{row['RMSE']:.3f} / {density(row):.2f}"
    return f"{words} AHEAD" if ours is None or ahead(row, ours) else words


def ahead(row: dict, ours: dict) -> bool:
    return row["RMSE"] < ours["RMSE"] and density(row) < density(ours)


def draw(found: dict, folder: Path) -> str:
    """One column per set, RMSE above and NLPD below, against CPU seconds of the fit."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            2, len(found), figsize=(3.0 * len(found), 5.6), squeeze=False, layout="constrained"
        )
        for column, (name, own) in zip(axes.T, found.items()):
            for axis, score in zip(column, ("RMSE", "NLPD")):
                axis.set_xscale("log")
                axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                axis.xaxis.set_minor_formatter(NullFormatter())
                axis.grid(alpha=0.25)
                path(axis, [own[method][0] for method in OWN], score, "collegium", OURS, "o-")
                for method in (method for method in PEERS if method in own):
                    colour, marker = PEER_STYLES[method]
                    path(axis, own[method], score, method, colour, f"{marker}-")
            column[0].set_title(name, fontsize=9)
        for row, score in zip(axes, ("RMSE", "NLPD, lower is better")):
            row[0].set_ylabel(score)
        figure.supxlabel("CPU seconds of the fit", fontsize=9)
        handles = dict(zip(*reversed(axes[0, 0].get_legend_handles_labels())))
        figure.legend(
            list(handles.values()), list(handles), loc="outside upper center", ncols=6,
            frameon=False,
        )  # fmt: skip
        return save(figure, folder / "budgets.png")


def path(axis: plt.Axes, rows: list[dict], score: str, name: str, colour: str, style: str) -> None:
    done = sorted((row for row in rows if "fit_cpu_s" in row), key=lambda row: row["fit_cpu_s"])
    value = density if score == "NLPD" else (lambda row: row["RMSE"])
    width = 2.0 if name == "collegium" else 0.9
    x, y = [row["fit_cpu_s"] for row in done], [value(row) for row in done]
    axis.plot(x, y, style, color=colour, label=name, markersize=4, linewidth=width)


def main(arguments: list[str] | None = None) -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--picture", type=Path, help="folder of the picture")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=900, help="wall seconds of one run")
    parser.add_argument("--memory", type=float, default=0.8 * total_gigabytes(), help="in GB")
    options = parser.parse_args(arguments)
    found = measure(options)
    print("\n" + table(lines(found)))
    if options.picture is not None and found:
        print(draw(found, options.picture))


if __name__ == "__main__":
    main()
