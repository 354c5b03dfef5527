"""Table 2 of Schwaighofer & Tresp (2002): memory and time."""

from benchmarks.harness.meter import Meter
from benchmarks.papers.experiments import Cell
from benchmarks.papers.schwaighofer2002.methods import METHODS, Data, Fold, Hyper, fold, online
from collegium.engines import single_threaded

ORDERS = """
Table 2, orders as in the paper (N rows, B basis points; prediction: per test row)
                         memory                     time
                 initialisation  prediction  initialisation  prediction
  Exact GPR           O(N²)        O(N)          O(N³)         O(N)
  RRA Nyström         O(NB)        O(N)          O(NB²)        O(N)
  SRM (all)           O(NB)        O(B)          O(NB²)        O(B)
  Online GP           O(B²)        O(B)          O(NB²)        O(B)
  BCM                   -         O(N + B²)        -           O(NB)"""
#: Run times of the paper, in seconds: KIN40K, 36,000 and 4,000 rows, B = 1000, 1 GHz Athlon.
RUN_TIMES = {
    "SRM Random": 180.0,
    "SRM Trans": 180.0,
    "RRA Nyström": 240.0,
    "BCM": 1800.0,
    "SRM SGMA": 7 * 3600.0,
    "SRM PostApp": 11 * 3600.0,
}


def table_2(data: Data, B: int) -> list[Cell]:
    """CPU seconds of selection, fit and prediction, one thread."""
    print(ORDERS)
    f = fold(data, 0)
    hyper = Hyper((2.0,), 1.0, 1e-3)  # run times hardly depend on it
    print(
        f"Table 2, run times on {data.name}: {len(f.y)} rows, {len(f.truth)} test rows, B = {B}"
        + (" (the paper: 1000)" if B != 1000 else "")
        + f", {hyper}\n  {'method':14}{'CPU s':>9}{'paper, s':>10}{'over Random':>13}"
        f"{'paper':>8}{'asked':>11}"
    )
    METHODS["SRM Random"](f, hyper, 20)  # compiles
    seconds: dict[str, float] = {}
    for method, paper in RUN_TIMES.items():
        seconds[method] = cpu_seconds(METHODS[method], f, hyper, B)
        ratio = seconds[method] / seconds["SRM Random"]
        asked = ""
        if method in ("SRM SGMA", "SRM PostApp"):
            asked = "<= 20" + (" yes" if ratio <= 20.0 else " no")
        print(
            f"  {method:14}{seconds[method]:9.1f}{paper:10.0f}{ratio:13.1f}"
            f"{paper / RUN_TIMES['SRM Random']:8.0f}{asked:>11}",
            flush=True,
        )
    cells = [
        Cell(f"table 2, {data.name}, B = {B}, {method}, CPU s over those of SRM Random",
             seconds[method] / seconds["SRM Random"])
        for method in RUN_TIMES
    ]  # fmt: skip
    start, more = 2 * B, 1000  # the basis is full after the first rows
    few = [Fold(f.X[:n], f.y[:n], f.X_test[:10], f.truth[:10], 0) for n in (start, start + more)]
    online(few[0], hyper, 20)
    first, second = (cpu_seconds(online, part, hyper, B) for part in few)
    estimate = first + (second - first) / more * (len(f.y) - start)
    print(
        f"  {'Online GP':14}{estimate:9.0f}{150 * 3600:10d}"
        f"{estimate / seconds['SRM Random']:13.1f}{3000:8d}   both estimates; ours from {more} rows"
    )
    return cells


def cpu_seconds(method, f: Fold, hyper: Hyper, B: int) -> float:
    with single_threaded(), Meter() as spent:
        method(f, hyper, B)
    return spent.cpu
