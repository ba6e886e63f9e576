"""The claims ledger: what the paper claims, the test that decides it, and the verdict on this run's data.

A claim is an entry of `workflow/resources/claims.yaml`; how a verdict is reached is in docs/claims.md.

    spec        reads and checks the YAML
    views       the data a test may name: tidy CSV files with the columns the tests need
    select      rows by condition
    kinds       the kinds of tests, each giving evidence
    intervals   confidence intervals
    verdicts    from evidence to a verdict
    ledger      all claims, one row per claim and variant
    theory      numbers for the claims about exact mathematics
"""
