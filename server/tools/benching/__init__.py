"""Parts of `bench_check.py`."""
