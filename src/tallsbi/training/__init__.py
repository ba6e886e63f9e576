"""Training of the score network: data, loss, averaged weights, early stopping, checkpoints and selection."""
