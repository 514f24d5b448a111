"""What `everlog show --view NAME` shows: one view per module, each as JSON (`value`) and as lines (`tell`).

Views are imported by `everlog.cli.show` when they are asked for. They read projections and hold nothing.
"""

VIEWS = (
    "transcript",
    "messages",
    "steps",
    "log",
    "header",
    "surface",
    "context",
    "inbox",
    "usage",
    "todos",
    "title",
    "approvals",
    "timeline",
    "lineage",
    "stream",
)
