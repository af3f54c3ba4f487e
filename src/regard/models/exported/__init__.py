"""Exported models (ONNX): graphs without Python modules, run by onnxruntime, with attention captured from the graph."""
