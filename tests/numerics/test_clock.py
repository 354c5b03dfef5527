"""Time that is left, and the pace at which it is used."""

import pytest

from collegium.numerics.clock import FADE, LEAST, Clock


class Hands:
    """A clock's hands, which tests move."""

    time = 100.0

    def __call__(self):
        return self.time


def test_a_clock_counts_and_never_below_zero():
    hands = Hands()
    clock = Clock(10.0, now=hands)
    assert clock.left() == 10.0 and clock.spent() == 0.0 and not clock.out()
    hands.time += 4.0
    assert clock.left() == 6.0 and clock.spent() == 4.0
    hands.time += 7.0
    assert clock.left() == 0.0 and clock.out() and clock.spent() == 11.0


def test_a_share_ends_earlier_and_leaves_the_rest():
    hands = Hands()
    clock = Clock(10.0, now=hands)
    hands.time += 4.0
    assert clock.share(0.5).left() == pytest.approx(3.0)
    assert clock.share(0.5, rest=2.0).left() == pytest.approx(3.0)
    assert clock.share(0.5, rest=5.0).left() == pytest.approx(1.0)
    assert clock.share(0.5, rest=50.0).left() == pytest.approx(0.3)  # some time in any case
    clock.pace.note(1e3, 2e3)
    assert clock.share(0.5, rest=2.5).left() == pytest.approx(1.0, abs=1e-3)
    hands.time += 10.0
    assert clock.share(0.5).out()


def test_without_a_limit_everything_fits():
    clock = Clock()
    assert not clock.out() and not clock.limited and clock.fits(1e300)
    assert clock.share(0.1, rest=1e9) is clock


def test_the_pace_is_learnt_from_finished_steps():
    hands = Hands()
    clock = Clock(100.0, now=hands)
    assert clock.needs(3.0) == 3.0 and clock.fits(99.0)
    with clock.step(5.0):
        hands.time += 10.0
    assert clock.needs(3.0) == pytest.approx(6.0, rel=1e-3)
    assert not clock.fits(46.0) and clock.fits(44.0)
    assert clock.share(0.5).pace is clock.pace
    with clock.share(0.5).step(5.0):  # parts of the work count too, the last ones most
        hands.time += 5.0
    expected = (FADE * 10.0 + 5.0) / (FADE * 5.0 + 5.0)
    assert clock.pace.factor == pytest.approx(expected, rel=1e-3)


def test_steps_of_no_work_and_lucky_ones_say_little():
    hands = Hands()
    clock = Clock(100.0, now=hands)
    with clock.step(0.0):
        hands.time += 10.0
    assert clock.pace.factor == 1.0
    with clock.step(10.0):
        pass
    assert clock.pace.factor == LEAST
