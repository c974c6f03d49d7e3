/** A server that uses only Fastify and pg, and runs one insert for each call, see plain.mjs. */
import fastify from 'fastify';
import pg from 'pg';
import { PLAIN_INSERT } from './plain.mjs';

const { BENCH_PLAIN_URL, BENCH_PLAIN_PORT } = process.env;
const pool = new pg.Pool({ connectionString: BENCH_PLAIN_URL, max: 8 });
const app = fastify();

app.post('/api/payments', async ({ body }) => {
  const values = [body.accountId, body.transactionRef];
  const { rows } = await pool.query({ name: 'insert', text: PLAIN_INSERT, values });
  return rows[0];
});

await app.listen({ port: Number(BENCH_PLAIN_PORT), host: '127.0.0.1' });
