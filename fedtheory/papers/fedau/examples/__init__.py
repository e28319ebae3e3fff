"""Evidence on claims about FedAU's runs."""
