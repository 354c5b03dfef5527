"""The service: a ledger behind HTTP, which answers from one model while it learns the next."""
