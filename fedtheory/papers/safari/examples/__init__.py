"""Learning problems: two points and clients that stay away, finite domains, thresholds under uniform distributions."""
