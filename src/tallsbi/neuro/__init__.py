"""The neuroscience study (section 4.3): inference for the Jansen-Rit model, with and without its gain."""
