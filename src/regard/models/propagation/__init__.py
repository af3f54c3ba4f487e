"""Relevance propagation by operation (LRP): backward rules that replace autograd's while a model runs, torch only.

Start in `rules.py`: a `TorchFunctionMode` changes the backward rule of each operation as the model calls it, whatever
its modules are. One ordinary forward and one ordinary backward then give input x gradient = relevance.

`operations` sorts torch functions into kinds; `backward` holds rules as autograd functions, `norms` and `recurrent`
those of larger operations; `ancestry` recognizes an activation that is written out; `ledger` and `constants` account
for relevance that does not reach the input (biases, positions, softmax); `proof` runs a call and checks that nothing
is lost.
"""
