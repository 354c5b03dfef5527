"""The ledger: rows that are added, forgotten, replaced and audited, and the model of them."""
