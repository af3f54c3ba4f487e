"""The audit: resolve, plan, estimate, shards, studies, fold, conclude, judge, export. Start in `audit.py`."""
