"""The folds over the log, one per file: each module holds one projection."""
