"""The published tables of the debate, beside ours: Jain & Wallace 2019 and Wiegreffe & Pinter 2019 on SST.

`python -m benchmarks.replicate --help`. `sst.py` reads the data, `models.py` trains, `measures.py` measures one trained
model, `tables.py` compares with the published values.
"""
