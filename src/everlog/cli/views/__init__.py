"""What `everlog show --view NAME` shows: one view per module, each as JSON (`value`) and as lines (`tell`).

Views are imported by `everlog.cli.show` when they are asked for. They read projections and hold nothing.
"""
