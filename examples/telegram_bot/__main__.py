"""Four people talk to the bot. No account and no network: a stand-in for Telegram runs on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tenure
from tenure.testing.telegram import FakeTelegram

APP = "examples.telegram_bot.bot:app"
SETTINGS = Path(__file__).with_name("gateway.toml")
TOKEN, SECRET = "1234567:nobodys-token", "nobodys-secret"
PEOPLE = {101: "Ann", 102: "Ben", 103: "Cleo", 104: "Dora"}
SAID = {101: "hello", 102: "/remind 300ms tea", 103: "/joke", 104: "/divide 1 0"}
HEARD = [
    (101, "hello"),
    (102, "In 300ms, then."),
    (102, "tea"),
    (103, "Two threads walk into a bar. The barkeeper says: one at a"),
    (104, "I am sorry, that did not work. My people have been told."),
]
ENDED = {
    "gateway.bot": ["dead after 3", "done after 1", "done after 1", "done after 3"],
    "gateway.bot.notice": ["done after 1"],
    "remind": ["done after 1"],
}
PATIENCE = 30.0


def main() -> int:
    with tempfile.TemporaryDirectory() as name, FakeTelegram(token=TOKEN) as telegram:
        folder, wrong = Path(name), list[str]()
        settings, store = folder / "gateway.toml", f"sqlite:///{folder}/bot.db"
        settings.write_text(f'{SETTINGS.read_text("utf-8")}api = "{telegram.url}"\n', "utf-8")
        os.environ.update(TENURE_URL=store, BOT_TOKEN=TOKEN, BOT_SECRET=SECRET, BOT_API=telegram.url)
        with running(settings, folder / "log", wrong) as url:
            if url:
                command("gateway", "telegram", "set-webhook", "bot", "-f", settings, "--url", url)
                wrong += talk(telegram)
        wrong += looked_up(store)
        for complaint in wrong:
            print(f"WRONG: {complaint}")
        if wrong:
            print((folder / "log").read_text("utf-8")[-4_000:])
        return 1 if wrong else 0


@contextmanager
def running(settings: Path, log: Path, wrong: list[str]) -> Iterator[str]:
    """`tenure up`, as a process of its own: gateway and worker; where it listens, or "" if it did not start."""
    print(f"$ tenure up {APP} -f gateway.toml")
    with log.open("w") as complaints, subprocess.Popen(
        [sys.executable, "-m", "tenure", "up", APP, "-f", settings, "--port", "0", "--json"],
        stdout=subprocess.PIPE, stderr=complaints, text=True,
    ) as up:  # fmt: skip
        try:
            told = up.stdout.readline() if up.stdout else ""
            if not told:
                wrong.append("tenure up did not start")
            yield json.loads(told)["gateway"]["url"] if told else ""
        finally:
            up.send_signal(signal.SIGTERM)
            code = up.wait(PATIENCE)
    if code:
        wrong.append(f"tenure up ended with {code}")


def command(*words: str | Path) -> None:
    """A command as people type it, and what it says."""
    print("$ tenure", *(word.name if isinstance(word, Path) else word for word in words), flush=True)
    subprocess.run([sys.executable, "-m", "tenure", *words], check=True)


def talk(telegram: FakeTelegram) -> list[str]:
    """Everybody says something, Ann's words arrive twice; what each hears, as it comes."""
    print("\nPeople write, and Telegram delivers:")
    updates = {person: telegram.message(text, person=person) for person, text in SAID.items()}
    answers = {person: telegram.deliver(None, update) for person, update in updates.items()}
    for person, text in SAID.items():
        print(f"  {PEOPLE[person]:<5} {text:<18} {answers[person].json}")
    again = telegram.deliver(None, updates[101]).json
    print(f"  {PEOPLE[101]:<5} {SAID[101]:<18} {again}  (delivered again)")
    print("\nThe bot answers:")
    heard: list[tuple[int, str]] = []
    deadline = time.monotonic() + PATIENCE
    while len(heard) < len(HEARD) and time.monotonic() < deadline:
        for message in telegram.sent[len(heard) :]:
            heard.append((message["chat_id"], message["text"]))
            print(f"  {PEOPLE[message['chat_id']]:<5} {message['text']}")
        time.sleep(0.01)
    wrong = []
    if again != {"ok": True, "id": answers[101].json["id"], "duplicate": True}:
        wrong.append(f"a second delivery was answered {again}")
    if sorted(heard) != sorted(HEARD):
        wrong.append(f"people heard {sorted(heard)}")
    return wrong


def looked_up(store: str) -> list[str]:
    """How the jobs ended."""
    ended: dict[str, list[str]] = {}
    with tenure.open(store) as queue:
        for job in queue.list(limit=100):
            ended.setdefault(job.kind, []).append(f"{job.state} after {job.attempt}")
    print("\nThe jobs, by kind:")
    for kind in sorted(ended):
        ended[kind].sort()
        print(f"  {kind:<19} {', '.join(ended[kind])}")
    if ended != ENDED:
        return [f"the jobs ended otherwise: {ended}"]
    print("\nEverybody was heard once, and nobody twice.")
    return []


if __name__ == "__main__":
    raise SystemExit(main())
