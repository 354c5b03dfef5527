"""Randomly varying coefficients: local linear experts that never store data (Edakunni, Schaal &
Vijayakumar 2007). `experts` has the letters; read it first."""
