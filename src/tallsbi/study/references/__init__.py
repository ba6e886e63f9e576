"""Reference posteriors, each with a certificate of how far it can be trusted."""
