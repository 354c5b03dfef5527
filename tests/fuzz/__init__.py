"""Random hostile tables, all estimators, and what must hold of every answer."""
