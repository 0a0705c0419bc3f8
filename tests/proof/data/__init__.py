"""Whatever people and strangers put in: it comes back byte for byte or is refused in words, and no secret is said aloud."""
