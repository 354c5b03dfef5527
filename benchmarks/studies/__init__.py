"""One question each about our own estimators.

accuracy    default arguments on kin40k, protein and heaton_satellite, against limits
committees  ways to combine and to cut
refine      means refined to those of the exact GP
scaling     cost against rows, and predictions per second
online, rvc, filters  the estimators of streams, and river's beside them
few_rows, noises  tables of few rows; constant noise of several kinds
guard       timing ratios of the parts, against limits
"""
