"""Notebooks as people write them, held against torch and against what the checker says."""
