"""Benchmarks of collegium. Every script runs from the root of the repository, by its module name:

    python -m benchmarks.studies.accuracy ../shared/data

harness/  how a benchmark is run: one process per method, CPU time and memory, tables and pictures
tasks/    the tasks: data sets, methods and scores of regression, classes, counts, outliers
peers/    the methods: ours and those of other libraries, one file each
studies/  one question each about our own estimators: accuracy, scaling, streams, guards on speed
papers/   the tables and figures of the papers, one folder each
results/  measurements of `make bench` and `make bench-classes`, one JSON file per data set

The `Makefile` has a target for each; the data folder is their first argument.
"""
