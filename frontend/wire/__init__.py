"""
ONNX models whose weights stay in files.

    model.onnx --read_light--> light ModelProto --write_model--> model.onnx [+ model.onnx.data]
    ModelProto --lighten-----> light ModelProto --materialise--> ModelProto

A *light* model is an ordinary ModelProto in which every tensor of more than INLINE bytes (initialiser or attribute, at
any depth) holds no data: it is external, and its location is the absolute path of the file that holds its bytes
(`Span`): the .onnx file itself, the model's external data, or a `Spool`. So a model of 6 GB is a megabyte of protobuf.
A light model is valid for as long as these files stay as they are.

Files: protobuf.py (the wire format), tensors.py (what the bytes of a tensor are), external.py (where they may lie),
reader.py, writer.py.
"""

from .external import INLINE, Span, Spool, read_span, set_span, shared_spool, span_of
from .protobuf import tensors
from .reader import lighten, read_light
from .tensors import byte_count, stored_bytes
from .writer import materialise, write_model

__all__ = [
    "INLINE",
    "Span",
    "Spool",
    "byte_count",
    "lighten",
    "materialise",
    "read_light",
    "read_span",
    "set_span",
    "shared_spool",
    "span_of",
    "stored_bytes",
    "tensors",
    "write_model",
]
