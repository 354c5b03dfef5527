"""Messages of several latent functions side by side."""

from dataclasses import replace

from collegium.laplace.stack import Stack


def test_the_change_of_a_stack_is_its_largest():
    a = Stack.zero(3, 2)
    parts = list(a.parts)
    parts[1] = replace(parts[1], shift=parts[1].shift + 3.0)
    assert Stack(tuple(parts)).change(a, a) == 3.0
    assert Stack(tuple(parts)).change(a, Stack(tuple(parts))) == 0.75
    assert a.change(a, a) == 0.0
