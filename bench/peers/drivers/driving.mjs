// What every driver of a Node queue shares: its arguments and answers, the loops around its enqueue calls, the
// handlers of the kinds, the end by SIGTERM, and the questions about what is left. driving.py is its twin.
//
// `node drive_x.mjs VERB JSON` answers with one line of JSON on stdout. Packages come from the folder named by
// ARENA_MODULES: a driver stands outside that folder, and `import` looks for packages only above the file it is in.

import { openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

export const KINDS = ["noop", "threaded", "wait", "stamp", "failing"];
/** A kind that no worker knows. */
export const FOREIGN = "somebody_elses";

const WARM = 20;
const PAD = "x".repeat(80);
const LAST_CALL_MS = 4000;
// From the enqueue that opens a connection to the first paced one.
const LEAD = 0.1;

const now = () => process.hrtime.bigint();
const secondsSince = (start) => Number(now() - start) / 1e9;
const modules = () => process.env.ARENA_MODULES ?? process.cwd();

export function load(name) {
  return import(pathToFileURL(createRequire(path.join(modules(), "x.js")).resolve(name)));
}

export function version(name) {
  // Read as a file: a package's `exports` may hide its package.json from import.
  const text = readFileSync(path.join(modules(), "node_modules", name, "package.json"), "utf8");
  return { version: JSON.parse(text).version };
}

export function payload(n) {
  return { n, pad: PAD };
}

/** Runs the verb that the command line names, prints its answer, and leaves. */
export async function drive(verbs) {
  const [verb, terms = "{}"] = process.argv.slice(2);
  if (!Object.hasOwn(verbs, verb)) {
    throw new Error(`no verb ${verb}: one of ${Object.keys(verbs).join(", ")}`);
  }
  const answer = await verbs[verb](JSON.parse(terms));
  if (answer !== undefined) {
    say(answer);
  }
  process.exit(0);
}

/** `count` calls of send(kind, payload), `concurrency` in flight at once; `unsend` removes what warmed up. */
export async function enqueueEach({ kind, count, concurrency, limit }, send, unsend) {
  const warmed = [];
  for (let done = 0; done < WARM; done += concurrency) {
    const together = Array.from({ length: concurrency }, () => send("warm", payload(0)));
    warmed.push(...(await Promise.all(together)));
  }
  await unsend(warmed);
  let next = 0;
  const start = now();
  const over = start + BigInt(Math.round(limit * 1e9));
  const sender = async () => {
    while (next < count && now() < over) {
      await send(kind, payload(next++));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sender));
  return { count: next, seconds: secondsSince(start) };
}

/** `count` jobs by insert(kind, jobs), `chunk` a call: of each its payload, its number's group and its own key. */
export async function enqueueChunks({ kind, count, limit, chunk, groups, unique }, size, insert) {
  let done = 0;
  const make = (n) => ({
    payload: payload(n),
    group: groups ? `g${n % groups}` : undefined,
    key: unique ? `u${n}` : undefined,
  });
  const start = now();
  while (done < count && secondsSince(start) < limit) {
    const some = Math.min(chunk || size, count - done);
    await insert(kind, Array.from({ length: some }, (_, i) => make(done + i)));
    done += some;
  }
  return { count: done, seconds: secondsSince(start) };
}

/**
 * One call of send(kind, payload) every `gap` seconds, the payload saying when it was due: were it when the call was
 * made, a call that takes long would hide that those behind it are late. One before them opens the connection.
 */
export async function enqueuePaced({ kind, count, gap }, send) {
  await send("noop", payload(0));
  const start = now() + BigInt(LEAD * 1e9);
  for (let i = 0; i < count; i++) {
    const due = start + BigInt(Math.round(i * gap * 1e9));
    const early = Number(due - now()) / 1e6;
    if (early > 0) {
      Atomics.wait(still, 0, 0, early);
    }
    await send(kind, { t: Number(due) });
  }
  return { count };
}

/** Nobody changes it: who waits for it sleeps. A timer of Node's ends up to a millisecond too soon, and the job would be early. */
const still = new Int32Array(new SharedArrayBuffer(4));

let first = true;

/** Tells once, in a file of this process's own, when it first asked for jobs, or where that is not told, had the first. */
export function begin(begun) {
  if (!first) return;
  first = false;
  writeFileSync(`${begun}-${process.pid}`, String(now()));
}

/** What to do with a job's payload and the number of its attempt, by kind. */
export function handlers({ begun, out }) {
  const file = out ? openSync(out, "a") : undefined;
  const stamp = () => begin(begun);
  return {
    noop: async () => {
      if (first) stamp();
    },
    threaded: () => {
      if (first) stamp();
    },
    wait: async () => {
      if (first) stamp();
      await sleep(5);
    },
    stamp: ({ t }) => {
      writeSync(file, `${now() - BigInt(t)}\n`);
    },
    failing: async (_, attempt) => {
      if (first) stamp();
      if (attempt === 1) throw new Error("once");
    },
  };
}

/** Starts a worker and stops it at SIGTERM; `start` answers with what stops it. */
export async function workUntilTerm(start) {
  // Heard from the beginning, so that a signal that comes while the worker starts is not lost.
  const told = new Promise((heard) => process.once("SIGTERM", heard));
  const stop = await start();
  say({ ready: true });
  await told;
  await Promise.race([stop(), sleep(LAST_CALL_MS)]);
}

/** Answers every line of stdin with whether jobs are left: 0 or 1. */
export async function answerLeft(left) {
  for await (const _ of createInterface({ input: process.stdin })) {
    say({ left: await left() });
  }
}

function say(answer) {
  // writeSync, because process.exit does not wait for what process.stdout has yet to write to a pipe.
  writeSync(1, `${JSON.stringify(answer)}\n`);
}
