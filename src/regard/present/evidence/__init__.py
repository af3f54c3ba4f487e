"""Evidence for auditors: a dossier (intended use, limits, changes, decisions, sign-off) and its archive."""
