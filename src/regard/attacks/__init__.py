"""Methods that look for the smallest change which makes a model answer otherwise. One method = one small file.

An attack is put together from a goal, constraints, a transformation and a search (the vocabulary of TextAttack); goal,
constraints and the query budget are the `Threat`, the same for every attack, so that attacks can be compared.
"""
