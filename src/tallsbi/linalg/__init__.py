"""Linear algebra of many small matrices at once: `batched` for callers, `kernel` compiled."""
