#!/bin/sh
# A job on the command line: heights of trees, measured at places, predicted on a grid.
# Makes its files in a folder of its own: sh examples/command_line.sh [FOLDER]
set -e
cd "${1:-$(mktemp -d)}"
PYTHON=${PYTHON:-python3}
alias collegium="$PYTHON -m collegium" # installed, `collegium` itself

$PYTHON - << 'END'
import random
from math import exp, sin

random.seed(0)


def height(east, north):
    return 18 + 6 * sin(east / 90) * exp(-north / 400) + 3 * sin(north / 40)


def write(path, n):
    with open(path, "w") as file:
        print("tree,east,north,height", file=file)
        for tree in range(n):
            east, north = random.uniform(0, 500), random.uniform(0, 500)
            seen = f"{height(east, north) + random.gauss(0, 0.8):.2f}" if tree % 100 else ""
            print(f"{tree},{east:.1f},{north:.1f},{seen}", file=file)


write("trees.csv", 1200)  # of every hundredth the height is missing
write("later.csv", 300)
with open("grid.csv", "w") as file:
    print("east,north", file=file)
    for east in range(0, 600, 20):
        for north in range(0, 500, 20):
            print(f"{east},{north}", file=file)
END

# learn; a tenth of the rows is held out to say how good it is
collegium fit trees.csv -y height -x east,north -o trees.clg --test 0.1

# heights on the grid, with intervals; the grid goes beyond the trees: --outside says where
collegium predict trees.clg grid.csv -o map.csv --interval 0.9 --outside

# trees that were measured later: score first, then learn from them
collegium score trees.clg later.csv
collegium update trees.clg later.csv -o trees-2.clg --id later
collegium diff trees.clg trees-2.clg

# in a pipe: the tallest places
collegium predict trees-2.clg grid.csv --level function | sort -t, -k1 -rg | head -n 4

# for scripts: one JSON object, and exit codes
collegium score trees-2.clg later.csv --json > score.json
if ! collegium fit trees.csv -y heigth -o other.clg; then
    echo "exit code 3: a column that is not there" >&2
fi
