"""One module a rule: its texts, and one or several detectors. `findings/registry.py` finds them."""
