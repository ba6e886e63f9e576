"""Figures: tidy data in, one matplotlib figure out.

A figure is a function `(data, settings, **arguments) -> Figure` of a module here, declared in
`workflow/artifacts.yaml` with its data and arguments; its caption is `workflow/report/<id>.rst`. A function reads no
file and holds no state between calls, so the same data give the same bytes. `panels` and `grid` draw all figures that
are made of panels with lines.
"""
