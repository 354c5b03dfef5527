"""Rows of data: chunks, ids, partitions, scaling, metrics and nearest rows."""
