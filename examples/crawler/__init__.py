"""A crawler of four kinds of job, each enqueueing the next. Run it: python -m examples.crawler"""
