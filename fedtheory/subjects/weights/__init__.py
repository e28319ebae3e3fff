"""Evidence on claims about estimated weights."""
