"""Reference posteriors, each with a certificate of how far it can be trusted.

sbibm, toy       the references of a part, by the best method for each problem
grid, mixture    exact draws: in two dimensions, and of Gaussian mixtures
nuts, mala       Markov chains; NUTS starts from `annealing`, in the coordinates of `standardised` or `slcp`
certificate      named checks, and how they are stored
tidy             all certificates as a table
agreement        a comparison with the references that sbibm ships
"""
