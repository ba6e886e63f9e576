"""The stages of the study: what each job of the workflow computes."""
