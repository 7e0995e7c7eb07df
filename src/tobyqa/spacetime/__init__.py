"""The model of method ``adaptive``: readings in space and time, fitted together.

`window` says which readings and in which units, `fit` what they tell once the variance
`components` are chosen, `likelihood` how those are chosen; `face` where the minimum is,
`precision` how well it is known. The model of ``paper`` is in `model.py`.
"""
