"""Evidence on claims about SAFARI's runs."""
