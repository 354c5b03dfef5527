"""The tables and figures of the papers: `python -m benchmarks.papers.tresp2000` and so on."""
