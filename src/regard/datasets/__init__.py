"""Readers and generators: a built-in name or a file -> Examples. Import from the file that defines the thing."""
