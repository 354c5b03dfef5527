"""Tables as people have them: words, dates, gaps and numbers as columns of numbers."""
