"""The two toy models of section 4.1: every score and posterior in closed form."""
