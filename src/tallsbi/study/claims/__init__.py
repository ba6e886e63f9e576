"""The claims ledger: what the paper claims, the test that decides it, and the verdict on this run's data.

A claim is an entry of a file in `workflow/resources/claims`; docs/claims.md says how a verdict is reached. From the
bottom:

    files       the YAML files of a folder as one
    cells       the cells of the benchmark that the claims need
    views       the data a test may name: tidy tables with the columns the tests need
    spec        the claims and their tests, read from the YAML and checked
    select      rows by condition
    units       from rows to one number per unit
    intervals   confidence intervals
    kinds       the kinds of tests, each giving evidence
    verdicts    from evidence to a verdict
    ledger      all claims, one row per claim and variant
"""
