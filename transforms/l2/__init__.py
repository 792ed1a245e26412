"""L2 fusion: the graph as the planners see it (piece.py), and the pass (l2_fusion.py)."""
