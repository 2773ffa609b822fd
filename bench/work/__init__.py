"""What runs in processes of its own, so that nothing of the benchmark itself is measured."""
