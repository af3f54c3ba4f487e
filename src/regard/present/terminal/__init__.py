"""Tables and text for a terminal."""
