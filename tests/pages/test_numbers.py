"""Numbers as people read them."""

import numpy as np
import pytest

from collegium.diagnostics.numbers import count, digits, percent, ticks, value_words
from collegium.pages.markup import element, table, visible


@pytest.mark.parametrize(
    "value, text",
    [(1234567.8, "1,234,568"), (0.000012345, "1.23e-05"), (-2.5, "−2.50"), (np.nan, "–"),
     (-np.inf, "−∞"), (999.96, "1,000"), (0.1, "0.100")],
)  # fmt: skip
def test_numbers(value, text):
    assert digits(value) == text


def test_brief_numbers_shares_and_counts():
    assert digits(2.50, brief=True) == "2.5" and digits(100.0, brief=True) == "100"
    assert percent(np.nan) == "–" and percent(0.5, 0) == "50\u202f%"
    assert count(1, "row") == "1 row" and count(0, "row") == "0 rows"


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3e-9, 4e-9), (1e6, 1e6 + 3), (-7.0, 123.0)])
def test_ticks_are_few_and_inside(ends):
    found = ticks(*ends)
    assert 2 <= len(found) <= 6
    slack = 1e-6 * (ends[1] - ends[0])
    assert min(found) >= ends[0] - slack and max(found) <= ends[1] + slack
    steps = np.diff(found)
    assert np.allclose(steps, steps[0], rtol=1e-3)


def test_values_of_a_table():
    assert value_words(np.datetime64("2026-03-01T00:00:00")) == "2026-03-01"
    assert value_words(None) == "missing" and value_words(True) == "True"
    assert value_words(3) == "3" and value_words("a") == "a"


def test_text_is_escaped_and_cut():
    assert element("p", "a<b", title='"x"') == '<p title="&quot;x&quot;">a&lt;b</p>'
    assert visible("a\n b\x00\u202ec" + "d" * 99).startswith("a b\ufffd\ufffdcddd")
    assert len(visible("d" * 99)) == 60
    assert "<b>" not in table("<b>", ["<b>", "#<b>"], [["<b>", "<b>"]])
