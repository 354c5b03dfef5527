"""Scores of means and standard deviations, as in regression."""

from benchmarks.tasks.regression.scores import of_answer

__all__ = ["of_answer"]
