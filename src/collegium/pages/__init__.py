"""A page about one model: is it any good, are its error bars honest, what has it learnt."""
