"""The audit of citations (`--task answer`): may the methods that rank the sources of an answer be trusted?"""
