"""Files that appear whole or not at all, with checksums: text, tables, arrays, tensors."""
