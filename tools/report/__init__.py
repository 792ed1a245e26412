"""
What ge-report draws: one module a kind of report, and what they share.

    base     what a report is made from, and what it is: a table, a drawing, a few lines
    chart    a report in a file: .html, .svg, .png, .csv
    l2       --l2: bytes from and to memory by op, without and with L2 groups
    memory   --memory: where each tensor lies in the arena, strategy by strategy

A kind is a module with FLAGS and HELP (its own flags) and `make`; tools/ge_report.py lists the kinds.
"""
