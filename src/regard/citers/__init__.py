"""Methods that say which source of a prompt an answer comes from. One method = one small file.

Each is a function of an `AnswerCase` and returns (spans, sources) scores: higher speaks for the source.
"""
