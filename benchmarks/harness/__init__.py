"""Run benchmarks.

driver     starts one process for each method on each data set, and stores the results
worker     that process: fits, predicts, scores, and measures time and memory
task       tasks and methods, the parts of a plan
data       data sets, read and split; forecast: predictive distributions of test rows
quantiles  pinball loss and CRPS of quantiles
meter      CPU seconds and memory; machine: where it ran
render     results -> pages in docs/, with `markdown` for tables and `pictures` for figures
tables     plain text; arguments: the data folder; warm_up: compiles before the clock runs
"""
