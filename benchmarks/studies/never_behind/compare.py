"""Paired differences between two runs, set by set, with standard errors.

A difference is that of the same method on the same splits. Its standard error is the larger of two:
that of blocks of test rows within splits, and, where there are several splits, that of the splits'
own differences, which also vary by training rows.

    ΔRMSE in % = 100 (√(MSE / MSE of the other) − 1),   ΔNLPD = NLPD − NLPD of the other.

A loss counts where it exceeds TOLERATED and two standard errors.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks.harness.tables import table

Array = np.ndarray
Key = tuple[str, str]  # set, method
#: Losses that are tolerated.
TOLERATED = {"RMSE": 0.5, "NLPD": 0.005}
#: Standard errors that a loss has to exceed.
CERTAIN = 2.0


def lines(path: Path) -> list[dict]:
    """All results of a file; the last line may be cut off."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def identity(row: dict) -> tuple:
    """What makes a line: it is not measured twice."""
    return row["set"], row["split"], row["method"], row["rows"], row["random_state"]


def pair(row: dict) -> tuple:
    """What two runs have to share to be compared; they may differ in `random_state`."""
    return row["split"], row["rows"]


def difference(new: list[dict], old: list[dict], score: str) -> tuple[float, float] | None:
    """Mean paired difference and its standard error; None where a split lacks the score."""
    name = "squared" if score == "RMSE" else score
    if not all(name in row["blocks"] for row in (*new, *old)):
        return None
    pairs = [(np.array(a["blocks"][name]), np.array(b["blocks"][name])) for a, b in zip(new, old)]
    if score == "RMSE":
        ratios = [np.sqrt(a.mean() / b.mean()) for a, b in pairs]
        splits = np.array([100.0 * (r - 1.0) for r in ratios])
        # √(a/b) to first order in the blocks: (a − r²b) / (2 r mean b)
        within = [50.0 * (a - r * r * b) / (r * b.mean()) for r, (a, b) in zip(ratios, pairs)]
    else:
        splits = np.array([(a - b).mean() for a, b in pairs])
        within = [a - b for a, b in pairs]
    errors = [one.var(ddof=1) / one.size for one in within]
    variance = np.sum(errors) / len(pairs) ** 2
    if len(pairs) > 1:
        variance = max(variance, splits.var(ddof=1) / len(pairs))
    return float(splits.mean()), float(np.sqrt(variance))


def grouped(rows: list[dict]) -> dict[Key, dict[tuple, dict]]:
    found: dict[Key, dict[tuple, dict]] = {}
    for row in rows:
        if "failed" not in row:
            found.setdefault((row["set"], row["method"]), {})[pair(row)] = row
    return found


def compared(new: list[dict], old: list[dict]) -> list[dict]:
    """One line per set and method that both runs have."""
    found, before, after = [], grouped(old), grouped(new)
    for key, own in after.items():
        both = [one for one in own if one in before.get(key, {})]
        if not both:
            continue
        a, b = [own[one] for one in both], [before[key][one] for one in both]
        line: dict = {"set": key[0], "method": key[1], "splits": len(both)}
        verdicts = []
        for score in ("RMSE", "NLPD", "pinball", "CRPS"):
            gap = difference(a, b, score)
            head = f"Δ{score} %" if score == "RMSE" else f"Δ{score}"
            line[head] = "–" if gap is None else f"{gap[0]:+.4f} ± {gap[1]:.4f}"
            if gap is not None and score in TOLERATED:
                verdicts += [verdict(score, *gap)]
        line["coverage"] = f"{_mean(b, 'coverage'):.3f} → {_mean(a, 'coverage'):.3f}"
        line["fit CPU s"] = f"{_mean(b, 'fit_cpu_s'):.1f} → {_mean(a, 'fit_cpu_s'):.1f}"
        line["ms"] = f"{_mean(b, 'ms_per_answer'):.2f} → {_mean(a, 'ms_per_answer'):.2f}"
        line[""] = " ".join(filter(None, verdicts))
        found.append(line)
    return found


def verdict(score: str, gap: float, error: float) -> str:
    """Say where a score is behind or better beyond tolerance and chance."""
    if abs(gap) <= max(TOLERATED[score], CERTAIN * error):
        return ""
    return f"{score} {'BEHIND' if gap > 0 else 'better'}"


def _mean(rows: list[dict], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def summary(rows: list[dict]) -> list[dict]:
    """Mean scores of every method on every set."""
    heads = {"RMSE": "RMSE", "NLPD": "NLPD", "NLPD_t": "with t", "pinball": "pinball"}
    heads |= {"CRPS": "CRPS", "coverage": "covers", "fit_cpu_s": "fit CPU s"}
    heads |= {"ms_per_answer": "ms"}
    found = []
    for (name, method), own in grouped(rows).items():
        group = list(own.values())
        line: dict = {"set": name, "method": method, "splits": len(group)}
        for key, head in heads.items():
            line[head] = _mean(group, key) if all(key in row for row in group) else "–"
        thirds = [row["coverage_by_sd"] for row in group if row["coverage_by_sd"]]
        line["by sd, %"] = (
            " · ".join(f"{100 * p:.0f}" for p in np.mean(thirds, axis=0)) if thirds else "–"
        )
        found.append(line)
    return found


def report(path: Path, against: Path | None) -> None:
    """Print scores, and differences where there is another run."""
    rows = lines(path)
    if done := summary(rows):
        print("\n" + table(done))
    known = {identity(row) for row in rows if "failed" not in row}
    for row in (row for row in rows if identity(row) not in known):
        print(f"failed: {row['set']}, split {row['split']}, {row['method']}: {row['failed']}")
    if against is None:
        return
    gaps = compared(rows, lines(against))
    if not gaps:
        print(f"\nno line of {path.name} has its pair in {against.name}")
        return
    print(f"\n{path.name} − {against.name}, ± one standard error; less is better")
    print(table(gaps))
    behind = [line for line in gaps if "BEHIND" in line[""]]
    print(f"\nbehind on {len(behind)} of {len(gaps)} lines: a loss of more than "
          f"{TOLERATED['NLPD']} NLPD or {TOLERATED['RMSE']} % RMSE, beyond {CERTAIN:.0f} standard "
          "errors")  # fmt: skip
