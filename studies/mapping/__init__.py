"""The decision map: axes, cells, boundaries between winners."""
