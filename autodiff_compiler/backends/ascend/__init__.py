"""The Ascend backend: modules as sequences of CANN's operators, called through the C interface that CANN documents.

Nothing in this package has run on hardware; the tests run it against `tests/ascend_sim` (see docs/ascend.md).
"""
