"""The paper: its tasks, references, stages, claims, tables, figures and report."""
