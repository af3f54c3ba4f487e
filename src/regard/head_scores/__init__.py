"""Methods that describe an attention head. One method = one small file."""
