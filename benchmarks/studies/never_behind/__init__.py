"""Compare two versions of the library set by set: it should never be behind.

sets       the sets by name: files of the data folder and made tables, each with its splits
synthetic  made tables: nulls, draws from priors, duplicates, ids, heavy tails, ties, words
measure    fit one method to one split and score it
compare    paired differences of two runs, with standard errors
"""
