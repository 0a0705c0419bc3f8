"""Kill -9 of whoever works on a store, at any moment, while others go on."""
