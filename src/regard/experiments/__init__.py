"""Experiments of the debate on attention as explanation: one file each, which is a function of a case.

An experiment records evidence, one value per example (`protocols.Findings`), and judges nothing: `judge` decides from
the stored evidence, without the model.
"""
