"""A Telegram bot whose updates are jobs: `python -m examples.telegram_bot`."""
