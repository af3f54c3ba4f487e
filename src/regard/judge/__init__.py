"""From stored evidence to verdicts: pure functions of numbers. No model is asked anything here."""
