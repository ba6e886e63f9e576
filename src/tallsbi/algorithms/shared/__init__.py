"""What several algorithms have in common, one file each."""
