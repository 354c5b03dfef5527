"""How a benchmark is run.

driver     starts one process for each method on each data set, and stores what it finds
worker     that process: fits, predicts, scores, and measures time and memory
task       what a plan consists of: tasks and methods
data       data sets, read and split; forecast: predictive distributions of test rows
meter      CPU seconds and memory; machine: where it ran
render     results -> pages in docs/, with `markdown` for tables and `pictures` for figures
tables     plain text; arguments: the data folder; warm_up: compiles before the clock runs
"""
