"""What the published exclusion rule looks at: the distances of one method, where N_train is large enough."""

METHOD = "GAUSS"
ABOVE_N_TRAIN = 3000
