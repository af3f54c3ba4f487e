"""Answers of chat models: prompts with sources, the objective of an answer, and interventions on its prompt."""
