"""Exported models (ONNX): graphs without Python modules, run by onnxruntime, whose attention is read from the graph."""
