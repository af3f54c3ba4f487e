"""Construction of planted models: networks, training, certificates, and the truth table."""
