"""Experiments of the debate on attention as explanation: one file each, which is a function of a case.

An experiment leaves evidence, one value per example (`protocols.Findings`), and judges nothing: what follows from the
evidence is decided in `judge`, from what is stored, without the model.
"""
