"""Dates and numbers that came as text are seen, and codes and words are left alone."""

import warnings

import numpy as np
import pytest

from collegium import CommitteeRegressor
from collegium.tables.encoding import Encoding
from collegium.tables.texts import TextColumnWarning

pandas = pytest.importorskip("pandas")
DAYS = pandas.date_range("2025-01-31", periods=40)
NUMBERS = np.linspace(-3.25, 1e3, 40)

TEXTS = {
    "dates": ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d %H:%M"],
    "numbers": ["{:.2f}", "{:e}", " {:.3f}", "{:.0f}"],
}


def texts_of(kind, form):
    if kind == "dates":
        return list(DAYS.strftime(form))
    return [form.format(x) for x in NUMBERS]


@pytest.mark.parametrize("kind, form", [(kind, form) for kind in TEXTS for form in TEXTS[kind]])
def test_dates_and_numbers_as_text_are_seen(kind, form):
    texts = texts_of(kind, form)
    remedy = {"dates": "pd.to_datetime", "numbers": "pd.to_numeric"}[kind]
    with pytest.warns(TextColumnWarning, match=f"'when' holds {kind} as text.*{remedy}"):
        Encoding.learn(pandas.DataFrame({"when": [*texts[:30], None, "?", *texts[30:]]}))
    commas = pandas.DataFrame({"when": [text.replace(".", ",") for text in texts]})
    if kind == "numbers":
        with pytest.warns(TextColumnWarning, match="'when' holds numbers"):
            Encoding.learn(commas)


@pytest.mark.parametrize(
    "column",
    [
        [f"{k % 12:04d}" for k in range(40)],  # codes, several rows each
        [f"A-{k}" for k in range(40)],
        [*texts_of("dates", "%Y-%m-%d")[:39], "tomorrow"],
        ["1.5", "2.5"] * 20,
        ["2024-01-01", "2025-01-01"] * 20,
        [f"10.0.0.{k}" for k in range(40)],
        list(DAYS),
        list(NUMBERS),
    ],
    ids=["codes", "names", "one word", "sizes", "two days", "addresses", "dates", "numbers"],
)
def test_codes_and_words_are_left_alone(column):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Encoding.learn(pandas.DataFrame({"when": column}))


def test_a_fit_says_so_once_and_not_where_levels_are_meant():
    texts = texts_of("dates", "%Y-%m-%d")
    frame = pandas.DataFrame({"when": texts, "x": NUMBERS})
    with pytest.warns(TextColumnWarning) as seen:
        CommitteeRegressor(random_state=0).fit(frame, NUMBERS)
    assert len(seen) == 1
    with pytest.warns(TextColumnWarning):
        CommitteeRegressor(random_state=0).fit(frame.to_dict("records"), list(NUMBERS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CommitteeRegressor(categorical_features=["when"], random_state=0).fit(frame, NUMBERS)
        with pytest.raises(ValueError, match="categorical_features=None"):
            CommitteeRegressor(categorical_features=None).fit(frame, NUMBERS)


def test_other_kinds_are_refused_with_the_remedy():
    table = pandas.DataFrame({"when": DAYS, "x": NUMBERS})
    encoding = Encoding.learn(table)
    with pytest.raises(ValueError, match="'when' holds '2025-01-31'.*pd.to_datetime"):
        encoding.forward(table.assign(when=texts_of("dates", "%Y-%m-%d")))
    with pytest.raises(ValueError, match="'x' holds '5 m'.*pd.to_numeric"):
        encoding.forward(table.assign(x="5 m"))
