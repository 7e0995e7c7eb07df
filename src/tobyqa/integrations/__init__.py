"""Doors to other packages; each module says which one it needs."""
