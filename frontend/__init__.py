"""
ONNX in and out.

    model.onnx --wire--> light ModelProto --importer--> ge on tensors --exporter--> light ModelProto --wire--> m.onnx

Files: wire/ (weights stay in files), importer.py, graphs.py (a model before it is read), exporter.py, graph_exporter.py
(bodies as graphs), nodes.py (one op <-> one node), known.py (which op a node is), attributes.py and values.py (the
pieces of both).
"""

from .exporter import export_model, node_count
from .importer import import_model
from .wire import lighten, materialise, read_light, write_model

__all__ = ["export_model", "import_model", "lighten", "materialise", "node_count", "read_light", "write_model"]
