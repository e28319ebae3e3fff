"""Evidence on claims about selections."""
