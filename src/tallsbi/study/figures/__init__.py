"""Figures: tidy data in, one matplotlib figure out.

The figure ID is the module `tallsbi.study.figures.<ID>`, its caption is `workflow/report/<ID>.rst`. Each module has
one public function `draw(data, settings)`; it reads no file and holds no state between calls, so the same
data give the same bytes. `style.save` writes what `draw` returns.
"""
