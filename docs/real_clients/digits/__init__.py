"""Digits with clients that come and go by a recorded trace: behind Flower, and behind NVFlare."""
