"""Parts of `docs.py`."""
