"""What tables, figures and claims share: which parameter sets an average leaves out, and which method is best."""
