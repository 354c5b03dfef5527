"""Widths of local experts, selected as rows come in."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rvc_cases import model, wave

from collegium.rvc.committee import StreamRules
from collegium.rvc.tuning import TUNING
from collegium.rvc.widths import Choice, begin_selection
from estimator_cases import rows


def test_the_best_width_answers_and_wider_ones_are_dropped():
    X, y = rows(2_000)
    y, w = (y - y.mean()) / y.std(), np.random.default_rng(0).uniform(0.5, 1.5, 2_000)
    choice = Choice(True, StreamRules(max_experts=15), None, None, None, 3, 1e-4)
    selection, start, kept = begin_selection(choice, X, y, w, 60), 0, []
    assert len(selection.committees) == 9 and selection.best_index == 4
    while selection.rounds:
        part = slice(start, start + selection.round_length)
        first_round = selection.rounds == TUNING.rounds
        half = 0 if first_round else selection.round_length // 2  # new committees need some rows
        gains = []
        for committee in selection.committees:
            _, mean, v = committee.add(X[part], y[part], w[part])
            z2 = np.minimum((y[part] - mean) ** 2 / v, 25)
            gains.append(np.sum((w[part] * (-z2 - np.log(2 * np.pi * v)))[half:]))
        few = slice(start, start + half + 49)
        most = slice(start, start + selection.round_length - 1)
        assert selection.add(X[few], y[few], w[few]).best_index == selection.previous
        late = selection.add(X[most], y[most], w[most])
        assert late.best_index == np.argmax(late.gains) and len(late.committees) == len(gains)
        after, best = selection.add(X[part], y[part], w[part]), int(np.argmax(gains))
        first = max(best - TUNING.narrower, 0) if selection.rounds > 1 else best
        units = [committee.assumed.unit for committee in selection.committees]
        assert units == sorted(units)
        expected = units[first : best + 1]
        while selection.rounds > 1 and len(expected) <= TUNING.narrower:  # added
            expected.insert(0, expected[0] / np.sqrt(2))
        assert_allclose([c.assumed.unit for c in after.committees], expected, rtol=1e-12)
        assert after.best.assumed.unit == units[best]
        kept.append(len(after.committees))
        selection, start = after, part.stop
    assert start == 60 * 31 and kept == [4, 4, 4, 4, 1]


def test_rows_of_no_weight_do_not_count_in_width_selection():
    X, y = rows(1_500)
    w = (np.random.default_rng(0).uniform(size=1_500) < 0.3).astype(float)
    one = model(start_rows=60)
    one.progressive(X, y, w)
    other = model(start_rows=60).partial_fit(X[w > 0], y[w > 0])
    assert one.width_ == other.width_ and one.n_seen_ == other.n_seen_
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)


@pytest.mark.parametrize("n", [100, 300])
def test_fit_chooses_narrow_regions_for_a_wiggle_and_scales_its_bars(n):
    X, _ = wave(n)
    noise = 0.05 * np.random.default_rng(1).normal(size=n)
    smooth = model(max_experts=40).fit(X, 0.3 * X[:, 0] + noise)
    wiggle = model(max_experts=40).fit(X, np.sin(6 * X[:, 0]) + noise)
    assert wiggle.width_ < 0.5 * smooth.width_
    assert abs(wiggle.model_.committees[0].scale[0]) > 1e-3
