"""Shared set-up: hypothesis without deadlines, since test machines are noisy."""

from hypothesis import settings

settings.register_profile("tobyqa", deadline=None, max_examples=60)
settings.load_profile("tobyqa")
