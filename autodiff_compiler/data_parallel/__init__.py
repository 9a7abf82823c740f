"""Data-parallel training: several processes train one network, each with its own part of the batches."""
