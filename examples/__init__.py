"""Small programs that show Tenure at work; each folder has a README."""
