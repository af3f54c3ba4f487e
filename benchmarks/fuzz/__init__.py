"""The fuzz campaign: hostile inputs, kills, a soak of the local app, an audit without a network (`make fuzz`)."""
