"""Independent, plain implementations that the product's results are checked against."""
