"""Users' tables: words, dates, missing values and numbers become columns of numbers."""
