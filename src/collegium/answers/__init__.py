"""From a committee's belief to predictions: exact, by anchors, by the nearest rows, jointly."""
