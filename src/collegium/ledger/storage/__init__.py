"""The file of a ledger: connections and locks, events, chunks, and conditions on kept columns."""
