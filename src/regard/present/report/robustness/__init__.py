"""Parts of the robustness section: one file each, each with a table beside its chart."""
