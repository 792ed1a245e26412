"""
Several ops as one `ge.fusion`, by rules, and back.

    rules.py, rules_file.py --matcher.py, condition.py--> sets of ops --fusion.py--> ge.fusion --inline_fusion.py--> ops

Python rules and rules from files compile to the same `Rule`. A fusion's meaning is its body: a rule is right and runs
the day it is written.
"""
