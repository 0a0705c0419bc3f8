"""Telegram's Bot API: calling it, sending at a pace it takes, and who may use a bot."""
