"""What a page says is what was computed elsewhere; every page is safe, small and the same again."""

import re
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from page_cases import Page, counts, labels, numbers, stream, value
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

import collegium
from collegium.kernels import Matern52
from collegium.pages.markup import Safe
from collegium.pages.page import LIMIT, POLICY, PagePart, page_of

HOSTILE = "<script>alert(1)</script>\"'&\u202e\x00<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def plain():
    model, X, y = numbers()
    return model, X, y, collegium.report(model, X, y)


@cache
def made(case):
    """A page of each kind."""
    if case in ("1", "2", "50"):
        model, X, y = numbers(int(case))
        return collegium.report(model, X, y)
    if case == "stream":
        model, X, y = stream()
        return collegium.report(model, X, y, stream=True)
    if case == "counts":
        model, X, y, e = counts()
        return collegium.report(model, X, y, exposure=e, target="claims")
    return collegium.report(*labels({"two": ["no", "yes"], "many": list("abcd")}[case]))


CASES = ("1", "2", "50", "two", "many", "counts", "stream")


@pytest.mark.parametrize("case", CASES)
def test_a_page_is_whole_small_and_safe(case):
    page = made(case)
    found = Page(page.html)
    assert not found.open
    assert len(page.html.encode()) < LIMIT
    policies = [one["content"] for one in found.all("meta") if "http-equiv" in one]
    assert policies == [POLICY]
    assert not {"script", "link", "iframe", "object", "form"} & {tag for tag, _ in found.elements}
    addresses = [one[name] for _, one in found.elements for name in ("href", "src") if name in one]
    ids = {one["id"] for _, one in found.elements if "id" in one}
    for one in addresses:
        assert one.startswith("data:image/png;base64,") or one[1:] in ids, one
    assert not [k for _, one in found.elements for k in one if k.startswith("on")]
    assert "nan" not in found.text.lower().split() and "None" not in found.text
    assert len(page.verdict) == 3
    assert all(one.endswith(".") and one in found.text for one in page.verdict)


@pytest.mark.parametrize("case", CASES)
def test_pictures_and_tables_can_be_read_aloud(case):
    found = Page(made(case).html)
    for picture in found.all("svg"):
        assert picture.get("aria-label") or picture.get("aria-hidden") == "true"
    assert found.all("html")[0]["lang"] == "en"
    for cell in found.all("th"):
        assert cell["scope"] in ("col", "row")
    heads = [tag for tag, _ in found.elements if tag in ("h1", "h2", "h3")]
    assert heads[0] == "h1" and heads.count("h1") == 1


def test_pictures_have_few_marks(plain):
    for picture in re.findall(r"<svg.*?</svg>", plain[3].html, flags=re.DOTALL):
        assert len(re.findall(r"<(rect|circle|path|line|polygon|image|text)\b", picture)) <= 200


def test_the_same_input_gives_the_same_bytes(plain):
    model, X, y, page = plain
    assert collegium.report(model, X, y).html == page.html
    again, *_ = numbers()
    assert collegium.report(again, X.copy(), y.copy()).html == page.html


def test_errors_are_those_of_independent_predictions(plain):
    model, X, y, page = plain
    found = Page(page.html)
    ours = y - model.predict(X)
    row = found.row("Errors", "this model")
    assert_allclose(value(row[1]), np.sqrt(np.mean(ours**2)), rtol=5e-3)
    assert_allclose(value(row[2]), np.mean(np.abs(ours)), rtol=5e-3)
    learnt, _, _ = numbers()
    Xt = np.random.default_rng(0).uniform(-3, 3, size=(160, 2))[:80]
    yt = np.sin(Xt[:, 0]) + 0.2 * np.random.default_rng(1).standard_normal(160)[:80]
    scale = StandardScaler().fit(Xt)
    nearest = KNeighborsRegressor(1).fit(scale.transform(Xt), yt).predict(scale.transform(X))
    rmse = np.sqrt(np.mean((nearest - y) ** 2))
    assert_allclose(value(found.row("Errors", "nearest row")[1]), rmse, rtol=5e-3)
    times = rmse / np.sqrt(np.mean(ours**2))
    assert_allclose(value(found.row("Errors", "nearest row")[3]), times, rtol=5e-3)
    assert_allclose(
        value(found.row("Errors", "mean")[1]),
        np.sqrt(np.mean((y - yt.mean()) ** 2)),
        rtol=5e-3,
    )


def test_coverage_is_that_of_predict_interval(plain):
    model, X, y, page = plain
    found = Page(page.html)
    for level in (0.5, 0.8, 0.9, 0.95):
        lower, upper = model.predict_interval(X, level)
        row = found.row("Central intervals", f"{level:.0%} interval")
        assert_allclose(value(row[1]), np.mean((lower <= y) & (y <= upper)), atol=6e-4)
        assert value(row[2]) == level
        assert_allclose(value(row[4]), np.median(upper - lower), rtol=5e-3)


def test_worst_rows_are_those_of_the_largest_standardised_errors(plain):
    model, X, y, page = plain
    mean, sd = model.predict(X, return_std=True)
    order = np.argsort(-np.abs(y - mean) / sd)[:10]
    table = Page(page.html).tables["Ten worst rows, counted from 1"]
    assert [int(one[0]) - 1 for one in table[1:]] == order.tolist()
    assert_allclose([value(one[1]) for one in table[1:]], y[order], rtol=1e-3)


def test_rows_can_be_left_out(plain):
    model, X, y, _ = plain
    page = collegium.report(model, X, y, rows=False)
    assert "worst rows" not in page.html


def test_log_loss_and_right_classes():
    model, X, y = labels(["no", "yes"])
    found = Page(collegium.report(model, X, y).html)
    p = model.predict_proba(X)
    row = found.row("Errors", "this model")
    assert_allclose(value(row[1]), np.mean(model.predict(X) == y), atol=6e-4)
    own = p[np.arange(len(y)), (y == "yes").astype(int)]
    assert_allclose(value(row[2]), -np.mean(np.log(own)), rtol=5e-3)
    table = found.tables["Rows by the class that came (lines) and was predicted (columns)"]
    for line, came in zip(table[1:], ["no", "yes"]):
        slow = [int(np.sum((y == came) & (model.predict(X) == name))) for name in ("no", "yes")]
        assert [int(one) for one in line[1:]] == slow


def test_hostile_names_and_labels_are_text():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({HOSTILE: rng.uniform(-3, 3, 120)})
    frame["word"] = np.array([HOSTILE, "b", "<b>c"])[rng.integers(0, 3, 120)]
    y = pd.Series(np.sin(frame[HOSTILE]), name=HOSTILE)
    model = collegium.CommitteeRegressor(random_state=0)
    model.fit(frame[:60], y[:60])
    page = collegium.report(model, frame[60:], y[60:], title=HOSTILE, command=HOSTILE)
    found = Page(page.html)
    assert not {"script", "img"} & {tag for tag, _ in found.elements}
    assert "<script>alert(1)</script>" in found.text  # as words
    assert "\u202e" not in page.html and "\x00" not in page.html
    page.html.encode()


def test_a_stream_is_predicted_before_it_is_learnt_from():
    model, X, y = stream()
    before = model.predict(X)
    page = collegium.report(model, X, y, stream=True)
    assert np.array_equal(model.predict(X), before)  # the model has learnt nothing
    found = Page(page.html)
    own, means = deepcopy(model), []
    for k in range(0, len(y), 100):
        means.append(own.predict(X[k : k + 100]))
        own.partial_fit(X[k : k + 100], y[k : k + 100])
    rmse = np.sqrt(np.mean((np.concatenate(means) - y) ** 2))
    assert_allclose(value(found.row("Errors", "this model")[1]), rmse, rtol=5e-3)
    assert "among the last 50" in found.text


def test_many_rows_are_sampled_and_the_page_says_so(plain):
    model, X, y, _ = plain
    page = collegium.report(model, X, y, max_rows=30)
    found = Page(page.html)
    assert "80 rows; this page looks at 30 of them" in found.text
    assert found.row("Central intervals", "90% interval")[-1] == "30"


def test_rows_that_were_learnt_from_are_noticed(plain):
    model, X, y, page = plain
    assert "are among those" not in page.html
    Xt = np.random.default_rng(0).uniform(-3, 3, size=(160, 2))
    yt = np.sin(Xt[:, 0]) + 0.2 * np.random.default_rng(1).standard_normal(160)
    found = Page(collegium.report(model, Xt[40:120], yt[40:120]).html)
    assert "50\u202f% of the rows that it is judged by are among those" in found.text


def test_groups_are_compared(plain):
    model, X, y, _ = plain
    groups = np.where(X[:, 1] > 0, "up", "down")
    found = Page(collegium.report(model, X, y, groups=("side", groups)).html)
    lower, upper = model.predict_interval(X, 0.9)
    inside = (lower <= y) & (y <= upper)
    caption = "Rows inside their 90\u202f% intervals, by side"
    for name in ("up", "down"):
        row = found.row(caption, name)
        assert_allclose(value(row[1]), inside[groups == name].mean(), atol=6e-4)
        assert int(row[-1]) == np.sum(groups == name)


def test_places_to_measure_are_where_little_is_known():
    model, X, y = numbers(1)
    found = Page(collegium.report(model, X, y).html)
    table = found.tables["Where to measure next (of the prediction)"]
    grid = np.linspace(X.min(), X.max(), 2000)[:, None]
    sd = model.predict(grid, return_std=True, level="function")[1]
    first = value(table[1][1])
    own = model.predict([[first]], return_std=True, level="function")[1][0]
    assert own > 0.97 * sd.max()
    assert_allclose(value(table[1][3]), own, rtol=2e-2)


def test_a_file_is_written_whole(tmp_path, plain):
    model, X, y, page = plain
    path = tmp_path / "page.html"
    found = collegium.report(model, X, y, path, command="again")
    assert path.read_text(encoding="utf-8") == found.html
    page.save(path)
    assert path.read_bytes() == page.html.encode()
    assert str(page) == "\n".join(page.verdict)
    assert page.verdict[0].split("(")[0] in page._repr_html_()


def test_a_page_that_is_too_large_loses_its_pictures():
    image = f'<image href="data:image/png;base64,{"A" * LIMIT}"></image>'
    figure = Safe(f"<figure><svg>{image}</svg></figure><p>words</p>")
    html = page_of("t", Safe("top"), [PagePart("a", "A", figure)])
    assert len(html) < LIMIT and "<svg>" in html and "words" in html
    figure = Safe(f"<figure>{'A' * LIMIT}</figure><p>words</p>")
    html = page_of("t", Safe("top"), [PagePart("a", "A", figure)])
    assert "figure>" not in html.split("</style>")[1] and "words" in html
    with pytest.raises(ValueError, match="fewer columns"):
        page_of("t", Safe("B" * LIMIT), [])


def test_bad_input_is_refused(plain):
    model, X, y, _ = plain
    from sklearn.linear_model import LinearRegression

    for bad, words in (
        (lambda: collegium.report(LinearRegression(), X, y), "give a fitted regressor"),
        (lambda: collegium.report(model, X[:5], y[:5]), "ten at least"),
        (lambda: collegium.report(model, X, y[:-1]), "one value for each"),
        (lambda: collegium.report(model, X, y, max_rows=0), "max_rows"),
        (lambda: collegium.report(model, X, y, groups=["a"]), "groups"),
    ):
        with pytest.raises(ValueError, match=words):
            bad()
    classes, Xc, yc = labels(["no", "yes"])
    with pytest.raises(ValueError, match="does not know"):
        collegium.report(classes, Xc, np.where(yc == "no", "maybe", yc))


def test_the_ledger_of_a_model_is_told(tmp_path):
    X, rng = np.random.default_rng(5).uniform(-3, 3, (140, 1)), np.random.default_rng(6)
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(140)
    settings = collegium.CommitteeRegressor(Matern52(1.0, 1.0), noise=0.01, learn=False)
    with collegium.Ledger(tmp_path / "rows.ledger", settings) as ledger:
        ledger.add(X[:80], y[:80])
        ledger.add(X[80:100], y[80:100], reason=f"June {HOSTILE}")
        for k in range(9):
            ledger.add(X[100 + k : 101 + k], y[100 + k : 101 + k], reason=f"row {k}")
        events, state = ledger.events(), ledger.state
        page = collegium.report(ledger.model(), X[109:], y[109:], ledger=ledger)
    found = Page(page.html)
    assert not found.all("img")
    (caption,) = [one for one in found.tables if one.startswith("Events")]
    assert caption == f"Events (the last 10 of {len(events)})"
    assert [int(one[0]) for one in found.tables[caption][1:]] == [e.lsn for e in events[-10:]]
    assert found.tables[caption][-1][-1] == "row 8"
    assert state[:60] in found.text and f"a ledger of {len(events)} events" in found.text
