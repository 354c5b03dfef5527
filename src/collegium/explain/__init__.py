"""What each column does to answers, and to one answer: effects, contributions, nearest rows."""
