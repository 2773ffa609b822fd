"""Drop-ins and bridges for other tools; each is loaded by those who use it."""
