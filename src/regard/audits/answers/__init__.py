"""Audit of citations (`--task answer`): can you trust the methods that rank the sources of an answer?"""
