"""Parts of `survey.py`."""
