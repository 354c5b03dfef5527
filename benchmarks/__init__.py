"""Benchmarks of collegium. Every script runs from the root of the repository, by its module name:

    python -m benchmarks.studies.accuracy ../shared/data

harness/  how a benchmark is run: one process a method, CPU time and memory, tables and pictures
tasks/    what is asked: data sets, methods and scores of regression, classes, counts, outliers
peers/    who answers: ours and other libraries, one file a method
studies/  one question each about our own estimators: accuracy, scaling, streams, guards on speed
papers/   the tables and figures of the papers, one folder each
results/  what `make bench` and `make bench-classes` have measured, one JSON file a data set

The `Makefile` has a target for each; the data folder is their first argument.
"""
