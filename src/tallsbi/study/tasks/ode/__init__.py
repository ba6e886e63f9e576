"""One differential equation behind both SIR and Lotka-Volterra, solved twice, by different methods.

In the logarithms a, b of the two populations both models are

    a' = alpha - beta exp(b),    b' = -gamma + delta exp(a):

prey and predators with four free rates, susceptible and infected shares with alpha = 0, beta = delta = the
contact rate and gamma = the recovery rate. In logarithms an absolute tolerance is a relative one for the
populations, however close to extinction they come.

`kernel` integrates many trajectories for the simulators (numba, order 5); `flow` integrates one trajectory
with its derivatives in the rates for the likelihoods (JAX, order 8). The tests compare them with each other
and with an independent solver.
"""
