"""The contract as a model in plain Python, and two uses of it.

`reference.py` is the contract: it can be read alone, with the words it needs in `words.py`. `machine.py` plays it beside a
real store, call by call, and `exhaustive.py` walks through everything that a small world of it can do.
"""
