"""What sections say and draw, against figures that were computed elsewhere."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from page_cases import Page, numbers

import collegium
from collegium.diagnostics.coverage import CoveredShare
from collegium.pages.judged import Parts, is_odd, judged
from collegium.pages.making import material_of
from collegium.pages.sections import accuracy, columns, data, honesty, maps, places, verdict, worst

GIVEN = {"exposure": None, "groups": None, "stream": False, "target": None, "rows": True}


@pytest.fixture(scope="module")
def own():
    model, X, y = numbers(n=300)
    return material_of(model, X, y, max_rows=100, seed=0, **GIVEN)


def bars(inside, parts=(), pit=None):
    inside = np.arange(1_000) < inside
    odd = [one for part in parts for one in part.shares if is_odd(one)]
    pit = np.linspace(0, 1, 1_000) if pit is None else pit
    return verdict.number_bars(
        SimpleNamespace(
            inside=inside, odd_parts=odd, parts=list(parts), material=SimpleNamespace(n=1_000),
            predicted=SimpleNamespace(pit=pit),
        )
    )  # fmt: skip


def test_the_verdict_names_bars_by_what_they_hold():
    for inside, words in ((800, "too narrow"), (980, "too wide"), (900, "can be believed")):
        assert words in bars(inside)
    assert "too low" in bars(900, pit=np.linspace(0, 1, 1_000) ** 0.5)
    assert "too high" in bars(900, pit=np.linspace(0, 1, 1_000) ** 2)


def test_the_verdict_says_where_bars_are_off():
    def part(title, share, low=0.85, high=0.95, label="0.1 to 0.2"):
        return Parts(title, (CoveredShare(label, 1_000, round(1_000 * share), 0.9, low, high),))

    size = "by predicted standard deviation"
    assert "but only 80.0\u202f% where the predicted standard deviation is 0.1 to 0.2" in bars(
        900, [part(size, 0.8)]
    )
    assert "and only 70.0\u202f% where ward is B" in bars(800, [part("by ward", 0.7, label="B")])
    low = part("by prediction", 0.8, label="low (1 to 2)")
    assert "where predictions are low (1 to 2)" in bars(900, [low])
    assert "where x > 2" in bars(900, [part("by region", 0.97, label="x > 2")])
    assert "can be believed on the whole: " in bars(900, [low])
    for one in (part(size, 0.93), part(size, 0.89, 0.895), part(size, 0.8, 0.7)):
        assert "no part of the rows stands out" in bars(900, [one])


def test_ends_of_a_histogram_of_pit_are_named():
    share = np.r_[0.09, np.full(19, 0.91 / 19)]
    for one, words in ((share, "far below"), (share[::-1], "far above")):
        found = SimpleNamespace(flat=False, shares=one)
        assert words in honesty.pit_words(found)


def test_the_band_of_a_curve_holds_95_percent(own):
    found = columns.effect(own.model, own.rows, 0, grid=13, random_state=0, n_rows=25)
    svg = columns.figure_of(own, 0)
    line = re.search(r'<path d="M([^"]*)" class="line"', svg)[1].replace("L", " ").split()
    edge = re.search(r'<polygon points="([^"]*)" class="band"', svg)[1].split()
    middle = np.array(line, dtype=float)[1::2]
    ends = np.array([one.split(",")[1] for one in edge], dtype=float)
    n = len(middle)
    a, b = np.argmin(found.mean), np.argmax(found.mean)
    unit = (middle[a] - middle[b]) / (found.mean[b] - found.mean[a])
    assert_allclose(ends[:n] - ends[n:][::-1], 2 * 1.96 * found.sd * unit, atol=0.25)


def test_places_are_chosen_given_those_before():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 30))
    C = A @ A.T + np.diag(rng.uniform(0, 9, 12))
    picks, slow = places.greedy(C, np.sqrt(C.diagonal()), A), []
    for _ in range(places.NAMED):
        known = C[:, slow] @ np.linalg.solve(C[np.ix_(slow, slow)], C[slow]) if slow else 0 * C
        slow.append(int(np.argmax((C - known).diagonal())))
    assert picks.tolist() == slow


def test_a_map_shows_the_function_and_its_deviation(own):
    found = maps.find_map(own)
    high, wide = found.mean.shape
    for i, k in ((0, 0), (high - 1, 3), (5, wide - 1)):
        x = np.linspace(*found.x, wide)[k], np.linspace(*found.y, high)[i]
        mean, sd = own.model.predict([x], return_std=True, level="function")
        assert_allclose((found.mean[i, k], found.sd[i, k]), (mean[0], sd[0]), rtol=1e-6)


def test_pixels_without_rows_are_empty():
    x, y = np.array([0.97, 0.98]), np.array([0.01, 0.02])
    near = maps.beside_rows(x, y, (0.0, 1.0), (0.0, 1.0), (24, 48))
    assert near[0, -1] and near[1, -4] and not near[-1, 0] and near.sum() == 2 * 4


def test_shares_of_a_sample_add_up(own):
    page = collegium.report(own.model, own.X, own.y, max_rows=40)
    beyond = re.search(r"([\d.]+)\u202f% of the rows lie beyond", Page(page.html).text)
    assert beyond is None or float(beyond[1]) <= 5.0
    said = data.rows_words(own, 0.0, False)
    assert "150 rows; this page looks at 100 of them" in said and "fitted to 150 rows" in said


def test_worst_rows_are_numbered_as_they_were_given(own):
    found = judged(own, False)
    table = Page(worst.worst_of_numbers(found)).tables["Ten worst rows, counted from 1"]
    z = np.abs(found.predicted.y - found.predicted.mean) / found.predicted.sd
    order = own.position[np.argsort(-z)[:10]] + 1
    assert [int(one[0].replace(",", "")) for one in table[1:]] == order.tolist()


def test_errors_of_plain_rules_are_multiples_of_the_model_s(own):
    found = judged(own, False)
    table = Page(accuracy.errors_of_numbers(found)).tables["Errors"]
    for line in table[1:]:
        assert_allclose(float(line[3]), float(line[1]) / float(table[1][1]), rtol=1e-2)
