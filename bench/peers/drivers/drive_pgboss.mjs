// Drives pg-boss: one queue per kind, woken by NOTIFY, fetched and completed in batches.
//
// Settings: batch (jobs a fetch), fetchers (how many fetch at once; its localConcurrency), pool (connections), and
// concurrency, where only so many jobs may run at once; `only` is the one kind that a worker is to know. A handler is given
// a whole batch, so the jobs of a batch run at once. Finished jobs are kept, 7 days by default.

import {
  answerLeft,
  begin,
  drive,
  enqueueChunks,
  enqueueEach,
  enqueuePaced,
  FOREIGN,
  handlers,
  KINDS,
  load,
  version,
  workUntilTerm,
} from "./driving.mjs";

const CHUNK = 5000;
// Each commit with a NOTIFY waits for the one before it, so more connections than these only queue up on the server.
const POOL = 16;
// As often as it allows, for work where a fetch may bring less than a whole batch though more is to come.
const OFTEN = { pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5 };

// Without statistics of a table just filled, every fetch sorts all that is ready. Autovacuum would gather them within
// a minute.
const ANALYZE = "ANALYZE pgboss.job_common";
// From the newest down: jobs are done oldest first, so one that still waits is found without passing dead entries.
// Not EXISTS, which drops the order.
const PENDING = {
  name: "arena_pending",
  text: `SELECT count(*)::int AS n FROM (
    SELECT FROM pgboss.job WHERE name = $1 AND state < 'active' AND NOT blocked
    ORDER BY priority, created_on DESC, start_after DESC LIMIT 1) AS last`,
};
// No index helps to find active rows among finished ones, so all are read once, when nothing is pending any more, but for
// those that stand before the first that was to do: where a history was stored before, there is no room for another row.
// From then on only those that were found then can be unfinished, and each is found by its id.
const FIRST = {
  name: "arena_first",
  text: "SELECT coalesce(min(ctid), '(0,0)')::text AS place FROM pgboss.job_common WHERE name = $1 AND state < 'active'",
};
const UNFINISHED = {
  name: "arena_unfinished",
  text: "SELECT id FROM pgboss.job_common WHERE name = $1 AND state <= 'active' AND ctid >= $2::tid",
};
const OF_THOSE = {
  name: "arena_of_those",
  text: `SELECT id FROM pgboss.job WHERE name = $1 AND id = ANY($2::uuid[]) AND state <= 'active' LIMIT 1`,
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
  for (const kind of [...KINDS, FOREIGN, "warm"]) {
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
  // How keys are minded is a property of the queue, given to it when it is made.
  const policy = (terms.groups && "key_strict_fifo") || (terms.unique && "exclusive");
  if (policy) {
    await boss.deleteQueue(terms.kind);
    await boss.createQueue(terms.kind, { policy, notify: true });
  }
  const more = terms.kind === "failing" ? { retryLimit: 3, retryDelay: 0, retryBackoff: false } : {};
  const answer = await enqueueChunks(terms, CHUNK, (kind, some) => {
    const jobs = some.map(({ payload, group, key }) => ({ data: payload, singletonKey: group ?? key, ...more }));
    return boss.insert(kind, jobs);
  });
  await (await connect(terms.url)).query(ANALYZE);
  // It counts what is ready once a minute; those who fetch without pause ask for that count.
  await boss.supervise(terms.kind);
  return answer;
}

async function paced(terms) {
  const boss = await openSender(terms.url, 1);
  return enqueuePaced(terms, (kind, payload) => boss.send(kind, payload));
}

async function work({ url, settings, begun, out }) {
  const { fetchers = 1, pool = 10, concurrency, batch = 1000, only } = settings;
  const options = {
    batchSize: concurrency ? Math.ceil(concurrency / fetchers) : batch,
    localConcurrency: fetchers,
    burstWhenBatchFull: true,
  };
  await workUntilTerm(async () => {
    const boss = await open(url, { max: pool, useListenNotify: true });
    const { failing, ...others } = handlers({ begun, out });
    begin(begun);
    for (const [kind, handle] of Object.entries(others).filter(([kind]) => !only || kind === only)) {
      const fitting = { ...options, ...(await inGroups(boss, url, kind, options.batchSize)) };
      await boss.work(kind, fitting, (jobs) => Promise.all(jobs.map((job) => handle(job.data))));
    }
    if (!only && (await hasJobs(url, "failing"))) {
      await boss.work("failing", { ...options, ...OFTEN, perJobResults: true, includeMetadata: true }, (jobs) =>
        Promise.all(jobs.map((job) => outcome(job, failing))),
      );
    }
    return () => boss.stop({ timeout: 3000 });
  });
}

// A fetch that brings less than it may is followed by a pause, so one is to bring a job of each group, and nobody is to
// share them with it.
async function inGroups(boss, url, kind, batch) {
  if ((await boss.getQueue(kind))?.policy !== "key_strict_fifo") {
    return {};
  }
  const text = "SELECT count(DISTINCT singleton_key)::int AS n FROM pgboss.job WHERE name = $1";
  const { n } = (await (await connect(url)).query(text, [kind])).rows[0];
  return { ...OFTEN, batchSize: Math.min(batch, n), localConcurrency: 1, burstWhenReadyExceeds: 1 };
}

async function hasJobs(url, kind) {
  return (await (await connect(url)).query({ ...PENDING, values: [kind] })).rows[0].n > 0;
}

async function outcome(job, handle) {
  try {
    await handle(job.data, job.retryCount + 1);
    return { id: job.id, status: "completed" };
  } catch (error) {
    return { id: job.id, status: "failed", output: { message: error.message } };
  }
}

async function left({ url, kind }) {
  const pool = await connect(url, "-c enable_sort=off -c enable_bitmapscan=off");
  const ask = async (query, ...more) => (await pool.query({ ...query, values: [kind, ...more] })).rows;
  const [{ place }] = await ask(FIRST);
  let those;
  await answerLeft(async () => {
    if ((await ask(PENDING))[0].n) {
      those = undefined;
      return 1;
    }
    those ??= (await ask(UNFINISHED, place)).map(({ id }) => id);
    return (await ask(OF_THOSE, those)).length;
  });
}

await drive({ version: () => version("pg-boss"), reset, enqueue, bulk, paced, work, left });
