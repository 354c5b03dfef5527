"""More rows for a fitted model: messages added, anchors and errors that follow the stream."""
