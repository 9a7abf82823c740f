"""What pytest does not import: the script that runs where MindSpore is installed."""

collect_ignore = ["record_facts.py"]
