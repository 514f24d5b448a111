"""The log and its projections: events, `append` and its rules, the surface, folds, repair, forks.

No I/O, no asyncio, no knowledge of models, tools or disks. Imports no room but `kernel`.
"""
