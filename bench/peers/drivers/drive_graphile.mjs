// Drives graphile-worker: plain, or with its local queue and batched completion, as `settings` say.
//
// Settings: concurrency (jobs at once), pool (connections), and for batches: local (size of the local queue) and
// delay (ms that completions wait for company). The project's own measurement has 24, 25, 500 and 0. `only` is the one
// kind that a worker is to know. A finished job's row is deleted.

import { EventEmitter } from "node:events";

import {
  answerLeft,
  begin,
  drive,
  enqueueChunks,
  enqueueEach,
  enqueuePaced,
  handlers,
  load,
  version,
  workUntilTerm,
} from "./driving.mjs";

// Read while the package is imported: without it every finished job builds a line for the log.
process.env.NO_LOG_SUCCESS = "1";

const CHUNK = 5000;
// Each commit with a NOTIFY waits for the one before it, so more connections than these only queue up on the server.
const POOL = 16;

const ADD_JOB = {
  name: "arena_add_job",
  text: "SELECT id FROM graphile_worker.add_job($1::text, payload => $2::json)",
};
const ADD_JOBS = {
  name: "arena_add_jobs",
  text: `SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
    SELECT json_populate_recordset(NULL::graphile_worker.job_spec, $1::json)))`,
};
const FORGET = {
  text: "SELECT count(*) FROM graphile_worker.complete_jobs($1::bigint[])",
};
// Without statistics of a table just filled, every fetch sorts all that is ready (a third of the pace). Autovacuum
// would gather them within a minute.
const ANALYZE = "ANALYZE graphile_worker._private_jobs";
// Jobs in named queues, or that will be tried again, become free without a word; only a poll finds them, after 2 s by
// default. With a local queue one polls for all, without one each of those that run jobs does, and more of them than there
// are queues are in each other's way.
const SILENT = `SELECT (SELECT count(*)::int FROM graphile_worker._private_job_queues) AS queues, EXISTS (
    SELECT FROM graphile_worker._private_tasks AS t
    WHERE identifier = 'failing' AND EXISTS (SELECT FROM graphile_worker._private_jobs WHERE task_id = t.id)) AS failing`;
const POLLS = { local: 1, each: 100 };
// From the newest id down: jobs are done oldest first, so a row that still lives is found without passing dead ones; to
// the oldest of the kind, for before it may stand many that nobody does. Not EXISTS, which drops the order.
const TASK = "(SELECT id FROM graphile_worker._private_tasks WHERE identifier = $1)";
const OLDEST = {
  name: "arena_oldest",
  text: `SELECT id FROM graphile_worker._private_jobs WHERE task_id = ${TASK} ORDER BY id LIMIT 1`,
};
const LEFT = {
  name: "arena_left",
  text: `SELECT count(*)::int AS n FROM (
    SELECT FROM graphile_worker._private_jobs
    WHERE task_id = ${TASK} AND id >= $2
    ORDER BY id DESC LIMIT 1) AS last`,
};

async function connect(url, max, options) {
  const { default: pg } = await load("pg");
  return new pg.Pool({ connectionString: url, max, options });
}

async function reset({ url }) {
  const pool = await connect(url, 1);
  await pool.query("DROP SCHEMA IF EXISTS graphile_worker CASCADE");
  const { runMigrations } = await load("graphile-worker");
  await runMigrations({ connectionString: url, logger: await silence() });
  return {};
}

async function silence() {
  const { Logger } = await load("graphile-worker");
  // A job that fails is told of with its stack, each time; a user who looks for speed turns that off.
  return new Logger(() => (level, message, about) => level === "error" && !about?.failure && console.error(message));
}

const addJob = (pool) => async (kind, payload) => {
  const { rows } = await pool.query({ ...ADD_JOB, values: [kind, JSON.stringify(payload)] });
  return rows[0].id;
};

async function enqueue(terms) {
  const pool = await connect(terms.url, Math.min(terms.concurrency, POOL));
  return enqueueEach(terms, addJob(pool), (ids) => pool.query({ ...FORGET, values: [ids] }));
}

async function bulk(terms) {
  const pool = await connect(terms.url, 1);
  await pool.query("SELECT 1");
  const answer = await enqueueChunks(terms, CHUNK, (identifier, jobs) => {
    const specs = jobs.map(({ payload, group, key }) => ({ identifier, payload, queue_name: group, job_key: key }));
    return pool.query({ ...ADD_JOBS, values: [JSON.stringify(specs)] });
  });
  await pool.query(ANALYZE);
  return answer;
}

async function paced(terms) {
  return enqueuePaced(terms, addJob(await connect(terms.url, 1)));
}

async function work({ url, settings, begun, out }) {
  const { run, WorkerPreset } = await load("graphile-worker");
  const { concurrency = 24, pool = concurrency + 1, local, delay = 0, only } = settings;
  const tasks = handlers({ begun, out });
  const known = { ...tasks, failing: (payload, { job }) => tasks.failing(payload, job.attempts) };
  const { queues, failing } = (await (await connect(url, 1)).query(SILENT)).rows[0];
  const most = Math.min(concurrency, queues || concurrency);
  const worker = {
    ...((queues || failing) && { pollInterval: local ? POLLS.local : POLLS.each }),
    connectionString: url,
    concurrentJobs: most,
    // With a connection to spare the next fetch would come before the last job has freed its queue.
    maxPoolSize: most < concurrency ? most + 1 : pool,
    logger: await silence(),
    ...(local && { localQueue: { size: local }, completeJobBatchDelay: delay, failJobBatchDelay: delay }),
  };
  // With a local queue thousands of jobs are fetched before the first of them is begun.
  const events = new EventEmitter();
  events.once("worker:getJob:start", () => begin(begun));
  await workUntilTerm(async () => {
    const runner = await run({
      events,
      preset: { extends: [WorkerPreset], worker },
      taskList: only ? { [only]: known[only] } : known,
      // Its own handler ends the process by the signal, which is not exit 0.
      noHandleSignals: true,
    });
    return () => runner.stop();
  });
}

async function left({ url, kind }) {
  const pool = await connect(url, 1, "-c enable_seqscan=off -c enable_sort=off");
  const oldest = (await pool.query({ ...OLDEST, values: [kind] })).rows[0]?.id ?? 0;
  await answerLeft(async () => (await pool.query({ ...LEFT, values: [kind, oldest] })).rows[0].n);
}

await drive({ version: () => version("graphile-worker"), reset, enqueue, bulk, paced, work, left });
