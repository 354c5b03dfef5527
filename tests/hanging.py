"""Calls that must not hang."""

import threading


def within(seconds, f, *given):
    """Call f, which must return or raise within some seconds."""
    found = []

    def call():
        try:
            found.append((f(*given), None))
        except BaseException as error:
            found.append((None, error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, "it hangs"
    value, error = found[0]
    if error is not None:
        raise error
    return value
