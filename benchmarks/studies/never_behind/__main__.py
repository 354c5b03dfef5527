"""Is this version behind another on any set? Scores set by set, and paired differences.

python -m benchmarks.studies.never_behind ../shared/data --out new.jsonl [--sets "prior*" concrete]
    [--methods collegium] [--rows 2000] [--random-state 0] [--against old.jsonl]

Writes one JSON line per set, split and method, and skips those that the file has. With
`--against`, prints the paired differences to another run; `--report` prints without measuring.
Methods are those of `make bench`; those whose packages are not installed are skipped.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

from threadpoolctl import threadpool_limits

import collegium
from benchmarks.harness.arguments import data_parser
from benchmarks.harness.task import Method, chosen
from benchmarks.harness.warm_up import warm_up
from benchmarks.studies.never_behind import compare, measure, sets
from benchmarks.tasks.regression.plan import METHODS

DEFAULT = ["collegium", "lightgbm"]


def run(options: argparse.Namespace) -> None:
    """Measure what the file lacks."""
    names = list(sets.DEFAULT) if options.sets is None else chosen(options.sets, sets.NAMES)
    methods = chosen(options.methods, METHODS)
    done = {compare.identity(r) for r in compare.lines(options.out) if "failed" not in r}
    if any(METHODS[label].module == "regression.ours" for label in methods):
        warm_up()
    for name in names:
        index, number = 0, 1
        while index < number:
            part = sets.part(options.folder, name, index, options.rows)
            if part is None:
                break
            number = sets.count(part.rows.y_test.size)
            for label in methods:
                key = {"set": name, "split": index, "method": label}
                key |= {"rows": options.rows, "random_state": options.random_state}
                if compare.identity(key) not in done:
                    one(options, key, METHODS[label], part)
            index += 1


def one(options: argparse.Namespace, key: dict, method: Method, part: sets.Part) -> None:
    """Measure and append one line; a failure is a line too, and is tried again later."""
    words = f"{key['set']:18} split {key['split']}  {key['method']:20}"
    try:
        row = measure.measure(method, part, options.random_state)
    except ModuleNotFoundError as error:
        print(f"{words} skipped: {error.name} is not installed", flush=True)
        return
    except Exception as error:  # the other sets are measured all the same
        row = {"failed": f"{type(error).__name__}: {str(error).strip()[:300]}"}
    version = {"version": collegium.__version__}
    with options.out.open("a") as stream:
        stream.write(json.dumps(key | version | row, ensure_ascii=False) + "\n")
    print(f"{words} {in_a_line(row)}", flush=True)


def in_a_line(row: dict) -> str:
    if "failed" in row:
        return f"failed: {row['failed']}"
    density = row.get("NLPD", row.get("NLPD_t", float("nan")))
    return (
        f"RMSE {row['RMSE']:.4f}  NLPD {density:.4f}  CRPS {row['CRPS']:.4f}  "
        f"covers {row['coverage']:.1%}  CPU {row['fit_cpu_s']:.1f} s"
    )


def parser() -> argparse.ArgumentParser:
    parser = data_parser(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines")
    parser.add_argument("--against", type=Path, help="another such file to compare with")
    parser.add_argument("--sets", nargs="+", help="names or patterns; * stands for anything")
    parser.add_argument("--methods", nargs="+", default=DEFAULT)
    parser.add_argument("--rows", type=int, help="training rows, at most")
    parser.add_argument("--random-state", type=int, default=0)
    parser.add_argument("--report", action="store_true", help="measure nothing")
    return parser


def main(arguments: list[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    warnings.simplefilter("ignore")
    if not options.report:
        print(f"collegium {collegium.__version__} of {Path(collegium.__file__).parent}")
        with threadpool_limits(1):
            run(options)
    compare.report(options.out, options.against)


if __name__ == "__main__":
    main()
