"""Values that y may take, and the units in which a likelihood sees them."""
