"""Readers and generators: a built-in name or a file -> Examples. Import each name from the file that defines it."""
