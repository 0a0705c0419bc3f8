"""The dashboard's page, played in a real Chromium."""
