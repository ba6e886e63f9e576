"""Side by side with other packages: `python -m benchmarks.peers --help`."""
