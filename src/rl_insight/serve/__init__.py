"""The collector's HTTP face: takes lines in, answers queries, streams what arrives."""
