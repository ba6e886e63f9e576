"""The benchmark study (section 4.2): tasks whose posterior score is learned from simulations."""
