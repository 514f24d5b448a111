"""What Everlog costs, as ratios within one run: machines are noisy, so nothing here is quoted in seconds alone.

Each module of this folder has a function `figures()` that gives `Figure`s; `python -m benchmarks` runs all of
them, or those named, and prints one table.
"""
