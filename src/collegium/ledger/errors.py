"""The error that a ledger raises where its file, and not an argument, is the cause."""


class LedgerError(RuntimeError):
    """Raised where a ledger cannot be read or written, or is not as it was written."""
