"""Tables: tidy data in, one table out, the paper's printed numbers beside ours."""
