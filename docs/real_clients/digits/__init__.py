"""FedAU on scikit-learn's digits with 20 clients that come and go, behind Flower."""
