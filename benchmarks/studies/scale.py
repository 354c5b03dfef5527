"""A scale of the error that varies, around the means of CommitteeRegressor: before and after.

python -m benchmarks.studies.scale ../shared/data [--sets kin40k] [--rows 6000] [--held 1000]

The scale is learnt from rows that a committee of the others answers (ten folds where there are
few rows), with the hyperparameters of all, and judged on fresh rows. Negative log density: of the
Gaussian as it is, of Student's t with the scale, and of a Gaussian with the calibrated standard
deviation. |z| is the median of |Φ⁻¹(F(y))|, .67 if right; coverage is that of 95 % intervals,
and by thirds of the predicted scale.
"""

import warnings
from functools import partial

import numpy as np

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.meter import Meter
from benchmarks.harness.tables import table
from benchmarks.harness.warm_up import warm_up
from benchmarks.tasks.regression.sets import split
from collegium import CommitteeRegressor
from collegium.engines import Serial
from collegium.messages.committee import Committee
from collegium.rows.chunk import cut
from collegium.rows.metric import Metric
from collegium.rows.rows import Prediction, Rows
from collegium.scale.density import Margins
from collegium.scale.features import Neighbours, ScaleInputs
from collegium.scale.scale import ErrorScale, resolution

SETS = ["protein", "cal_housing", "powerplant", "kin40k", "wine_red"]
FOLDS = 10


def make_inputs(model, rows: Rows, X: np.ndarray, found: Prediction) -> ScaleInputs:
    """Inputs of the scale at X, where rows were learnt from."""
    metric = Metric.of(model.kernel, model.committee.rows().X)
    near, place = Neighbours.of(metric.forward(rows.X), rows.y, rows.w), metric.forward(X)
    q = near.log_error(place, found.mean)
    return ScaleInputs.of(found.mean, found.variance + model.committee.noise, place, q)


def answered(model, held: np.ndarray) -> ScaleInputs:
    """Inputs at rows, answered by the others. Of a row that stands for copies one is held out."""
    committee, rows = model.committee, model.committee.rows()
    w = rows.w - np.bincount(held, minlength=rows.w.size)
    starts = np.cumsum([0, *committee.sizes])
    groups = [np.arange(a, b)[w[a:b] > 0] for a, b in zip(starts, starts[1:])]
    rest = Rows(rows.X, rows.y, np.where(w > 0, w, 1.0))
    other = Committee.start(model.kernel, committee.noise, committee.basis.Z, rows.y.shape[1])
    other = other.add(cut(*rest.fields(), [g for g in groups if g.size]), Serial(), keep=True)
    found = model.answerer(other, model.n_local).predict(rows.X[held], Serial())
    return make_inputs(model, rest.take(np.concatenate(groups)), rows.X[held], found)


def learn_scale(model, number: int) -> tuple[ErrorScale, int, float]:
    """The scale, held-out rows, and CPU seconds without those of their answers."""
    rows = model.committee.rows()
    copies = np.repeat(np.arange(rows.w.size), rows.w.astype(int))
    order = np.random.default_rng(0).permutation(copies)
    parts = [order[:number]] if 5 * number <= order.size else np.array_split(order, FOLDS)
    each, held = [answered(model, part) for part in parts], np.concatenate(parts)
    at = ScaleInputs(
        *(np.concatenate([getattr(one, name) for one in each])
          for name in ("log_sd", "mean", "place", "near"))
    )  # fmt: skip
    with Meter() as meter:
        scale = ErrorScale.learn(at, rows.y[held], resolution=resolution(rows.y[copies]))
    return scale, held.size, meter.cpu


def thirds(inside: np.ndarray, width: np.ndarray) -> str:
    """Coverage of the rows with the least, middling and largest widths."""
    parts = np.array_split(inside[np.argsort(width, kind="stable")], 3)
    return " ".join(f"{part.mean():.3f}"[1:] if part.mean() < 1 else "1" for part in parts)


def judged(margins: Margins, y: np.ndarray, words: str) -> dict:
    low, high = margins.quantile(0.025), margins.quantile(0.975)
    inside = ((low <= y) & (y <= high))[:, 0]
    return {
        f"NLPD{words}": -float(margins.log_density(y).mean()),
        f"|z|{words}": float(np.median(np.abs(margins.normal_scores(y)))),
        f"coverage{words}": float(inside.mean()),
        f"thirds{words}": thirds(inside, margins.scale[:, 0]),
    }


def run(folder, name: str, most: int, number: int) -> dict:
    """A line of the table."""
    data = split(folder, name, most)
    with Meter() as fit:
        estimator = CommitteeRegressor(random_state=0).fit(data.X, data.y)
    model = estimator.model_
    with Meter() as all_of_it:
        scale, held, seconds = learn_scale(model, number)
    found = model.predictor().predict(data.X_test, Serial())
    y = model.units.scaling.forward(data.y_test[:, None])
    with Meter() as ask:
        at = make_inputs(model, model.committee.rows(), data.X_test, found)
        after = scale.predictive(at)
    before = ErrorScale.identity().predictive(at)
    calibrated = Margins(at.mean, np.sqrt(scale.variance(at)), np.array([np.inf]))
    unit = np.log(float(model.units.scaling.scale[0]))  # densities in the units of the data
    row = {"set": name, "rows": data.y.size, "held": held}
    row |= judged(before, y, "") | judged(after, y, " after")
    row |= {"Gaussian": -float(calibrated.log_density(y).mean())}
    for key in ("NLPD", "NLPD after", "Gaussian"):
        row[key] += unit
    one = scale.outputs[0]
    row |= {"nu": one.nu, "kappa": one.kappa, "rho": one.rho}
    row |= {"gain": one.gain.mean, "±": one.gain.error}
    row |= {"fit s": fit.cpu, "held out s": all_of_it.cpu - seconds, "scale s": seconds}
    return row | {"ask ms": 1e3 * ask.cpu / data.y_test.size}


if __name__ == "__main__":
    parser = data_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--rows", type=int, default=6000, help="training rows, at most")
    parser.add_argument("--held", type=int, default=1000, help="held-out rows")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warm_up()
    each = partial(run, options.folder, most=options.rows, number=options.held)
    lines = []
    for name in options.sets:
        lines.append(each(name))
        print(table(lines[-1:]), flush=True)
    print(table(lines))
