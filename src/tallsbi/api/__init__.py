"""The library for anyone's simulator: fit a network on single observations, sample the posterior of many.

`tallsbi.TallPosterior` is the way in; the modules here are what it is made of.
"""
