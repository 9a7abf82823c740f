"""What pytest leaves out here."""

#: Needs MindSpore.
collect_ignore = ["data/make_fixtures.py"]
