"""Runs one command that must not outlive the process that asked for it.

A script, started by `tests.support.process`, that stands between a test run and a server. Each line on
its standard input is the number of a signal to pass on. When the input ends, whoever held the other end
is gone, however it went: the command is sent the last signal and its directory is removed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--user", type=int)
    parser.add_argument("--group", type=int)
    parser.add_argument("--last-signal", type=int, required=True)
    parser.add_argument("--remove", required=True)
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()

    command = subprocess.Popen(
        asked.command,
        stdin=subprocess.DEVNULL,
        user=asked.user,
        group=asked.group,
        extra_groups=None if asked.user is None else [],
    )
    orphaned = threading.Event()

    def listen() -> None:
        # Not through sys.stdin: a thread that waits in there holds up the end of the interpreter.
        while said := os.read(0, 64):
            for number in said.split():
                command.send_signal(int(number))
        orphaned.set()
        command.send_signal(asked.last_signal)

    # The one who asked decides when this ends, not a Ctrl-C or a hang-up meant for it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    threading.Thread(target=listen, daemon=True).start()
    code = command.wait()
    if orphaned.is_set():
        shutil.rmtree(asked.remove, ignore_errors=True)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
