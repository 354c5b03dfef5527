"""From belief to predictions: exact, by anchors, by the nearest rows, jointly; refined means."""
