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
from collegium.rows.rows import Prediction
from collegium.scale.density import Margins
from collegium.scale.features import Neighbours, ScaleInputs
from collegium.scale.scale import ErrorScale, resolution

SETS = ["protein", "cal_housing", "powerplant", "kin40k", "wine_red"]
FOLDS = 10


def held_out(model, number: int) -> tuple[np.ndarray, Prediction]:
    """Row numbers, and predictions of f by the committee of the other rows."""
    committee, n = model.committee, model.committee.rows().X.shape[0]
    order = np.random.default_rng(0).permutation(n)
    parts = [order[:number]] if 5 * number <= n else np.array_split(order, FOLDS)
    return np.concatenate(parts), Prediction.joined([answered(model, part) for part in parts])


def answered(model, held: np.ndarray) -> Prediction:
    committee, rows = model.committee, model.committee.rows()
    starts = np.cumsum([0, *committee.sizes])
    groups = [np.setdiff1d(np.arange(a, b), held) for a, b in zip(starts, starts[1:])]
    chunks = cut(*rows.fields(), [group for group in groups if group.size])
    other = Committee.start(model.kernel, committee.noise, committee.basis.Z, rows.y.shape[1])
    other = other.add(chunks, Serial(), keep=True)
    return model.answerer(other, model.n_local).predict(rows.X[held], Serial())


def learn_scale(model, number: int):
    """The scale, and what makes inputs of it from predictions."""
    rows, noise = model.committee.rows(), model.committee.noise
    metric = Metric.of(model.kernel, rows.X)
    near = Neighbours.of(metric.forward(rows.X), rows.y, rows.w)

    def inputs(X, found: Prediction, own=None) -> ScaleInputs:
        place = metric.forward(X)
        q = near.log_error(place, found.mean, own)
        return ScaleInputs.of(found.mean, found.variance + noise, place, q)

    held, found = held_out(model, number)
    with Meter() as meter:
        at = inputs(rows.X[held], found, held)
        scale = ErrorScale.learn(at, rows.y[held], rows.w[held], resolution(rows.y))
    return scale, inputs, held.size, meter.cpu


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
        scale, inputs, held, seconds = learn_scale(model, number)
    found = model.predictor().predict(data.X_test, Serial())
    y = model.units.scaling.forward(data.y_test[:, None])
    with Meter() as ask:
        at = inputs(data.X_test, found)
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
