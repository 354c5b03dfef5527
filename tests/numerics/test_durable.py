"""Files that replace others when they are complete."""

import builtins
import os

import pytest

from collegium.numerics.durable import replacing


@pytest.mark.parametrize("old", [None, b"as it was"])
def test_an_interrupt_while_a_file_is_opened_leaves_none(tmp_path, monkeypatch, old):
    """Signals are handled when a call returns: the file is there, and nobody has its name yet."""
    path = tmp_path / "out.bin"
    if old is not None:
        path.write_bytes(old)
    own = builtins.open

    def interrupted(*args, **more):
        own(*args, **more).close()
        raise KeyboardInterrupt

    monkeypatch.setattr(builtins, "open", interrupted)
    with pytest.raises(KeyboardInterrupt), replacing(path):
        pass
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ([] if old is None else ["out.bin"])
    assert old is None or path.read_bytes() == old
