"""Citers: methods that score which source of a prompt an answer comes from, one per file.

Each is a function of an `AnswerCase` and returns (spans, sources) scores; a higher score supports the source.
"""
