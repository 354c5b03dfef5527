"""Lines and bars about long work, for people."""

import io
import re

import numpy as np
import pandas as pd
import pytest

from collegium import CommitteeRegressor, kernels
from collegium.engines import Serial, Threads
from collegium.interface.words.progress import LOGGER, Progress, clear_bar


@pytest.fixture
def each_bar(monkeypatch):
    """Draw bars however short the work is."""
    for name in ("PAUSE", "SHARE"):
        monkeypatch.setattr(f"collegium.interface.words.progress.{name}", 0.0)


@pytest.mark.parametrize("engine", [Serial(), Threads(2)], ids=["one", "two"])
def test_long_work_shows_a_bar_and_the_same_result(engine, capsys, each_bar):
    watched = Progress(1, "squaring").watch(engine)
    assert watched.map(lambda i: i * i, range(5)) == [0, 1, 4, 9, 16]
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and "4 of 5, about 0 s left" in lines[-1] and "#" * 24 in lines[-1]
    assert all("squaring [" in line for line in lines)
    assert watched.n_jobs == engine.n_jobs


def test_bars_say_what_is_left_and_come_now_and_then(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("collegium.interface.words.progress.time.perf_counter", lambda: now[0])

    def work(seconds):
        now[0] += seconds

    say = Progress(1, "counting")
    for _ in range(2):
        counted = say.counting(work, 100)
        for _ in range(100):
            counted(1.0)
    lines = capsys.readouterr().out.splitlines()
    assert "counting [" in lines[0] and "3 of 100, about 97 s left" in lines[0]
    assert "counting, step 2 [" in lines[-1] and not any("100 of 100" in line for line in lines)
    assert 30 < len(lines) < 60  # of 200 s: fewer as time goes on
    say.counting(work, 1)(9.0)
    assert capsys.readouterr().out == ""
    say.task = "another phase"
    counted = say.counting(work, 2)
    counted(20.0)
    assert "another phase [" in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_has_one_line_for_bars_and_phases(monkeypatch, each_bar):
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    say = Progress(1)
    say.task = "learning"
    for item in range(3):
        say.counting(abs, 2)(item)
    say("learnt")
    say.task = "finishing"
    clear_bar()
    text = re.sub(r"\[collegium +[0-9.]+ s\]", "-", shown.getvalue())
    assert text.count("\n") == 1 and "\r\x1b[K- learnt\n" in text  # in place of the bar
    assert "\r\x1b[K- learning …\r\x1b[K- learning [" in text
    assert "learning, step 3 [" in text and text.endswith("finishing …\r\x1b[K")


def test_lines_name_columns(capsys):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"size": rng.normal(size=90), "city": rng.choice(["Rome", "Oslo"], 90)})
    y = np.sin(frame["size"]) + (frame["city"] == "Rome")
    model = CommitteeRegressor(kernels.Matern32(), verbose=1, random_state=0).fit(frame, y)
    lines = capsys.readouterr().out
    assert re.search(r"length_scale=\{size: [\d.]+, city: [\d.]+\}, categories=\('city',\)", lines)
    assert "length_scale=[" in repr(model.kernel_)


def test_lines_go_to_a_handler_of_ones_own(caplog, capsys):
    with caplog.at_level("INFO", logger="collegium"):
        handlers, own = LOGGER.handlers[:], LOGGER.propagate
        LOGGER.handlers[:], LOGGER.propagate = [], True
        try:
            Progress(1)("a line")
        finally:
            LOGGER.handlers[:], LOGGER.propagate = handlers, own
    assert "a line" in caplog.text and capsys.readouterr().out == ""


def test_silence_and_engines_of_others_are_left_alone():
    other = object()
    assert Progress(1).watch(other) is other
    engine = Serial()
    assert Progress(0).watch(engine) is engine
