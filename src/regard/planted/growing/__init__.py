"""How planted models are made: their networks, their training, their certificates, and the table of their truth."""
