"""What the first screen of a report shows, found in the run: one file each, records out, no markup."""
