/**
 * A server that uses only Fastify and pg. For each read, it runs the statements that the service sends, and returns the rows
 * unchanged. It has no checks, limits or log. BENCH_BARE is the path of a file with the routes, the URL of the database, and the
 * port.
 */
import { readFileSync } from 'node:fs';
import fastify from 'fastify';
import pg from 'pg';
import { valuesOf } from './statements.mjs';

const { routes, url, port } = JSON.parse(readFileSync(process.env.BENCH_BARE, 'utf8'));
const pool = new pg.Pool({ connectionString: url, max: 8 });
const app = fastify();

for (const [number, { path, variables, statements }] of routes.entries()) {
  const named = statements.map((statement, i) => ({ ...statement, name: `r${number}s${i}` }));
  app.get(path, async ({ params, query }) => {
    const given = { ...params, ...query };
    const values = Object.fromEntries(Object.entries(variables).map(([name, from]) => [name, given[from]]));
    return runAll(named, values);
  });
}

await app.listen({ port, host: '127.0.0.1' });

async function runAll(statements, variables) {
  const results = await Promise.all(
    statements.map((statement) =>
      pool.query({ name: statement.name, text: statement.text, values: valuesOf(statement, variables) }),
    ),
  );
  return results.map(({ rows }) => rows);
}
