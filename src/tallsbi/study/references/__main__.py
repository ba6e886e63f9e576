"""Compares our reference posteriors with those that sbibm ships."""

from tallsbi.study.references.agreement import main

raise SystemExit(main())
