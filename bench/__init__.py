"""What recording, shipping and storing cost, with floors measured in the same run: `python -m bench`."""
