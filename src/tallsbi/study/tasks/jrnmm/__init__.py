"""The stochastic Jansen-Rit neural mass model (JRNMM) of section 4.3 and its summary.

`model` holds the equations and the closed forms of their linear part, `kernel` the compiled time stepping
with its random streams, `simulator` the simulations for parameters theta = (C, mu, sigma[, g]), `summary`
the log power spectrum that inference sees instead of a signal.
"""
