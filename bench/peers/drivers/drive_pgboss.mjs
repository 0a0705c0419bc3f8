// Drives pg-boss: one queue per kind, woken by NOTIFY, fetched and completed in batches.
//
// Settings: batch (jobs a fetch), fetchers (how many fetch at once; its localConcurrency), pool (connections), and
// concurrency, where only so many jobs may run at once. A handler is given a whole batch, so the jobs of a batch run at
// once. Finished jobs are kept, 7 days by default.

import {
  answerLeft,
  drive,
  enqueueChunks,
  enqueueEach,
  enqueuePaced,
  handlers,
  KINDS,
  load,
  version,
  workUntilTerm,
} from "./driving.mjs";

const CHUNK = 5000;
// Each commit with a NOTIFY waits for the one before it, so more connections than these only queue up on the server.
const POOL = 16;

// Without statistics of a table just filled, every fetch sorts all that is ready. Autovacuum would gather them within
// a minute.
const ANALYZE = "ANALYZE pgboss.job_common";
// From the newest down: jobs are done oldest first, so one that still waits is found without passing dead entries.
const PENDING = {
  name: "arena_pending",
  text: `SELECT count(*)::int AS n FROM (
    SELECT FROM pgboss.job WHERE name = $1 AND state < 'active' AND NOT blocked
    ORDER BY priority, created_on DESC, start_after DESC LIMIT 100) AS few`,
};
// No index helps to find active rows among finished ones, so this is asked only when nothing is pending any more.
const ACTIVE = {
  name: "arena_active",
  text: `SELECT count(*)::int AS n FROM (
    SELECT FROM pgboss.job WHERE name = $1 AND state <= 'active' LIMIT 100) AS few`,
};

async function connect(url, options) {
  const { default: pg } = await load("pg");
  return new pg.Pool({ connectionString: url, max: 1, options });
}

async function open(url, options) {
  const { PgBoss } = await load("pg-boss");
  const boss = new PgBoss({ connectionString: url, ...options });
  boss.on("error", console.error);
  await boss.start();
  return boss;
}

// One that only sends needs neither a janitor nor a clock.
const openSender = (url, max) => open(url, { max, supervise: false, schedule: false });

async function reset({ url }) {
  const pool = await connect(url);
  await pool.query("DROP SCHEMA IF EXISTS pgboss CASCADE");
  const boss = await openSender(url, 1);
  for (const kind of [...KINDS, "warm"]) {
    await boss.createQueue(kind, { notify: true });
  }
  return {};
}

async function enqueue(terms) {
  const boss = await openSender(terms.url, Math.min(terms.concurrency, POOL));
  return enqueueEach(
    terms,
    (kind, payload) => boss.send(kind, payload),
    (ids) => boss.deleteJob("warm", ids),
  );
}

async function bulk(terms) {
  const boss = await openSender(terms.url, 1);
  const answer = await enqueueChunks(terms, CHUNK, (kind, payloads) => {
    const jobs = payloads.map((data) => ({ data }));
    return boss.insert(kind, jobs);
  });
  await (await connect(terms.url)).query(ANALYZE);
  return answer;
}

async function paced(terms) {
  const boss = await openSender(terms.url, 1);
  return enqueuePaced(terms, (kind, payload) => boss.send(kind, payload));
}

async function work({ url, settings, begun, out }) {
  const { fetchers = 1, pool = 10, concurrency, batch = 1000 } = settings;
  const options = {
    batchSize: concurrency ? Math.ceil(concurrency / fetchers) : batch,
    localConcurrency: fetchers,
    burstWhenBatchFull: true,
  };
  await workUntilTerm(async () => {
    const boss = await open(url, { max: pool, useListenNotify: true });
    for (const [kind, handle] of Object.entries(handlers({ begun, out }))) {
      await boss.work(kind, options, (jobs) => Promise.all(jobs.map((job) => handle(job.data))));
    }
    return () => boss.stop({ timeout: 3000 });
  });
}

async function left({ url, kind }) {
  const pool = await connect(url, "-c enable_sort=off -c enable_bitmapscan=off");
  const count = async (query) => (await pool.query({ ...query, values: [kind] })).rows[0].n;
  await answerLeft(async () => (await count(PENDING)) || (await count(ACTIVE)));
}

await drive({ version: () => version("pg-boss"), reset, enqueue, bulk, paced, work, left });
