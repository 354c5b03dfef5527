"""docs/classification.md: its head and the sets of classes."""

from __future__ import annotations

from benchmarks.harness.markdown import (
    cost,
    lines,
    memory,
    percent,
    shown,
    training_rows,
    unanswered,
    without,
)
from benchmarks.tasks.classes.plan import METHODS

EXAMPLES = """\
## In code

```python
import numpy as np
from collegium import CommitteeClassifier, CommitteeRegressor

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(600, 2))
score = 2 * np.sin(X[:, 0]) + X[:, 1]
X_new = X[400:]
```

Classes may be words or numbers, two or more; probabilities have a column for each of `classes_`.

```python
y = np.where(score + rng.logistic(size=600) > 0, "buys", "leaves")
model = CommitteeClassifier(random_state=0).fit(X[:400], y[:400])
label = model.predict(X_new)
probability = model.predict_proba(X_new)
print(model.classes_, np.mean(label == y[400:]))
```

`likelihood="softmax"` treats all classes at once, `class_weight="balanced"` gives rare ones as much
weight as frequent ones, and `partial_fit(X, y, classes=…)` follows a stream.

Counts have intervals of whole numbers. Where each was counted for another time or area, that is
its `exposure`; y itself stays the count, not the rate.

```python
hours = rng.uniform(0.5, 8.0, size=600)
counts = rng.poisson(hours * np.exp(0.5 * score))
model = CommitteeRegressor(likelihood="poisson", random_state=0)
model.fit(X[:400], counts[:400], exposure=hours[:400])
rate = model.predict(X_new, exposure=1.0)  # per hour
lower, upper = model.predict_interval(X_new, coverage=0.9, exposure=hours[400:])
```

With outliers in y, Student's t keeps them from moving the means:

```python
y = score + 0.1 * rng.normal(size=600)
y[:40] += 20.0  # a broken sensor
model = CommitteeRegressor(likelihood="student-t", random_state=0).fit(X[:400], y[:400])
print(np.abs(model.predict(X_new) - score[400:]).mean())
```

## Measured
"""
HEAD = (
    "# Classes, counts and outliers\n\n"
    "Labels, counts, waiting times and targets with outliers have a likelihood of their own. First "
    "in code, then measured beside other libraries.\n\n"
    + EXAMPLES
    + """
Written by `make bench-classes`; not edited by hand. Every line was measured in a process of its
own, so that memory is measured separately. A random tenth of the rows is held out for testing; X is
standardised with the statistics of the training rows. Log loss is the mean of −log p of the true
class (lower is better; probabilities below 1e-15 count as 1e-15). Brier is Σₖ (pₖ − 1[y = k])²,
between 0 and 2. The expected calibration error compares the probability of the predicted class with
how often that class is right, in 15 bins. *Confidence* is the mean of that probability: below the
accuracy it is under-confident, above it over-confident. CPU seconds are those of {threads}, without
compiling and reading the data. Sorted by log loss; collegium in bold. Data sets with fewer than
2,000 training rows are one chunk, so that all partitions and sweeps are the same.

Very skewed columns are taken as normal scores (`transforms="auto"`), and from 1,000 rows on columns
of few values as steps or levels, where held-out rows gain in log loss: by more than .005, 5 % of it
and two standard errors. Of these sets that is so for spambase alone, whose columns are counts with
many zeros; without it the log loss is .184. Candidates are tried by least squares on labels, each
of up to 800 rows left out in turn, which takes a tenth of a second each.
"""
)
CAPTIONS = {
    "classes_time.png": "Log loss against CPU time",
    "classes_reliability.png": "Share of correct classes against their predicted probability",
}
COLUMNS = (
    "method", "rows", "accuracy", "log loss", "Brier", "calibration error", "confidence", "sweeps",
    "CPU s, fit + predict", "peak GB",
)  # fmt: skip


def sections(found: dict[str, dict]) -> list[str]:
    return [section(name, results) for name, results in found.items()]


def section(name: str, results: dict) -> str:
    done, words = [row for row in results.values() if "log_loss" in row], ""
    if done:
        n, n_test, d, K = (done[0][key] for key in ("n_available", "n_test", "d", "classes"))
        words = f"{n:,} rows × {d} columns, {K} classes, {n_test:,} predictions.\n\n"
    return f"## {name}\n\n{words}{table(results)}\n"


def table(results: dict) -> str:
    done = sorted((r["log_loss"], name) for name, r in results.items() if "log_loss" in r)
    rows = [cells(name, results[name]) for _, name in done]
    return lines(COLUMNS, rows + without(unanswered(results, METHODS), len(COLUMNS)))


def cells(name: str, row: dict) -> list[str]:
    return [
        shown(name, METHODS), training_rows(row, METHODS[name]), percent(row["accuracy"]),
        f"{row['log_loss']:.4f}", f"{row['brier']:.4f}", f"{row['ece']:.3f}", percent(row["top"]),
        f"{row['sweeps']}" if row.get("chunks", 1) > 1 else "", cost(row), memory(row),
    ]  # fmt: skip
