"""A picture of a job on the command line, as a terminal of 80 columns shows it.

    python -m benchmarks.studies.terminal [--out docs/pictures]

The commands run in a pseudo-terminal; what they write is drawn, bold words and colours included.
"""

import argparse
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import collegium

COLUMNS = 80
EXAMPLE = Path(__file__).parents[2] / "examples" / "command_line.sh"
JOB = (
    "collegium fit trees.csv -y height -x east,north -o trees.clg --test 0.1",
    "collegium predict trees.clg grid.csv -o map.csv --interval 0.9 --outside",
    "collegium score trees.clg later.csv",
    "collegium update forest.clgdb trees.csv --from trees.clg --id May",
    "collegium update forest.clgdb later.csv --id June",
    'collegium forget forest.clgdb --where "tree = 7" --reason "request 2231"',
    "collegium fit trees.csv -y heigth -o other.clg",
)
STYLE = re.compile(r"\x1b\[([0-9;]*)m")
COLOURS = {"plain": "#d8dee9", "bold": "#ffffff", "red": "#ff7b72", "prompt": "#7ee787"}


def in_terminal(command: str, folder: Path) -> str:
    """What a command writes to a terminal, without the lines of progress that were replaced."""
    import fcntl
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    source = Path(collegium.__file__).parents[1]
    own = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    call = command.replace("collegium", f"{sys.executable} -m collegium", 1)
    process = subprocess.Popen(
        call,
        shell=True,
        cwd=folder,
        stdout=theirs,
        stderr=theirs,
        env={**own, "TERM": "xterm", "PYTHONPATH": str(source)},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            some = os.read(ours, 65536)
        except OSError:  # the end, on Linux
            break
        if not some:
            break
        text += some
    process.wait()
    lines = text.decode().replace("\r\n", "\n").split("\n")
    return "\n".join(re.split(r"\r\x1b\[2K|\x1b\[2K", line)[-1] for line in lines).rstrip("\n")


def pieces(line: str) -> list[tuple[str, str]]:
    """Texts of a line with their styles."""
    found, style, at = [], "plain", 0
    for match in STYLE.finditer(line):
        found.append((line[at : match.start()], style))
        codes, at = match[1].split(";"), match.end()
        if codes in ([""], ["0"]):
            style = "plain"
        elif "31" in codes or ("1" in codes and style == "plain"):
            style = "red" if "31" in codes else "bold"
    return [(text, kind) for text, kind in [*found, (line[at:], style)] if text]


def wrapped(line: str) -> list[str]:
    """Cut a line without styles where a terminal does."""
    if STYLE.search(line):
        return [line]
    return [line[i : i + COLUMNS] for i in range(0, max(len(line), 1), COLUMNS)]


def drawn(screen: list[list[tuple[str, str]]], path: Path) -> None:
    """Draw lines of styled texts."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    height, width = 0.19, 0.088  # of a character, inches
    size = (COLUMNS + 3) * width, (len(screen) + 1.5) * height
    figure = plt.figure(figsize=size, facecolor="#0d1117")
    for k, line in enumerate(screen):
        at = 1.5
        for text, style in line:
            figure.text(
                at * width / size[0], 1.0 - (k + 1.4) * height / size[1], text, family="monospace",
                fontsize=10.5, color=COLOURS[style], weight="bold" if style != "plain" else None,
                va="baseline", parse_math=False,
            )  # fmt: skip
            at += len(text)
    figure.savefig(path, dpi=110, facecolor=figure.get_facecolor(), metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, script = Path(place), EXAMPLE.read_text(encoding="utf-8")
        code = script.split("<< 'END'\n")[1].split("\nEND\n")[0]  # it writes the tables
        subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
        screen: list[list[tuple[str, str]]] = []
        for command in JOB:
            screen.append([("$ ", "prompt"), (command, "bold")])
            for line in in_terminal(command, folder).split("\n"):
                screen += [pieces(one) for one in wrapped(line)]
    drawn(screen, asked.out / "command_line.png")


if __name__ == "__main__":
    main()
