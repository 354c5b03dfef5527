"""Scores of predictive distributions, as in regression."""

from benchmarks.tasks.regression.scores import of_answer

__all__ = ["of_answer"]
