import pg from 'pg';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { committedDescription, examplesOfMedia, type Operation } from '../support/api-description.ts';
import { type TestService, useService } from '../support/harness.ts';
import { createCaller } from '../support/http.ts';
import { eventually, untilPasses } from '../support/waiting.ts';

/** The service runs while its database loses the results of the migrations. */

async function onDatabase(
  connection: string | pg.ClientConfig,
  statements: readonly string[],
): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const onServer = (...statements: string[]) => onDatabase(inject('server'), statements);

function databaseNameOf({ connection }: TestService): string {
  return typeof connection === 'string' ? new URL(connection).pathname.slice(1) : connection.database;
}

/** Sends every operation with its examples. @returns a line for each answer with a status of 500 or above. */
async function failuresOf(service: TestService): Promise<string[]> {
  const call = createCaller(service.origin);
  const send = async ({ name, method, path, parameters, body, bodyType }: Operation) => {
    const concrete = parameters.reduce(
      (text, parameter) => text.replace(`{${parameter.name}}`, String(parameter.example)),
      path,
    );
    const query = new URLSearchParams(
      parameters
        .filter((parameter) => parameter.in === 'query' && parameter.required)
        .map((parameter): [string, string] => [parameter.name, String(parameter.example)]),
    );
    const [example] = body ? examplesOfMedia(body) : [];
    const answer = await call(method, `${concrete}?${query}`, example, {
      headers: { ...(bodyType !== undefined && { 'content-type': bodyType }) },
      token: service.adminToken,
    });
    if (answer.status < 500) return [];
    return [`${answer.status} ${Number(answer.headers.get('retry-after')) > 0 ? 'later' : 'never'} ${name}`];
  };
  const operations = committedDescription().operations.filter(({ path }) => path.startsWith('/api/'));
  const failures = await Promise.all(operations.map(send));
  return failures.flat();
}

const service = useService();
const databaseName = () => databaseNameOf(service);
/** A copy of the database with all tables and the user of the service. */
const copyName = () => `${databaseName()}_copy`;

beforeAll(() =>
  untilPasses(async () => {
    // A database can be copied only while nobody is connected to it.
    await onServer(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${databaseName()}'`,
      `create database ${copyName()} template ${databaseName()}`,
    );
  }),
);
afterAll(() => onServer(`drop database ${copyName()}`));

it.each<[string, () => Promise<void>]>([
  [
    'is emptied',
    () => onDatabase(service.connection, ['drop schema public cascade', 'create schema public']),
  ],
  ['has no schema', () => onDatabase(service.connection, ['drop schema public cascade'])],
  [
    'is dropped and recreated empty',
    () => onServer(`drop database ${databaseName()} with (force)`, `create database ${databaseName()}`),
  ],
  ['is dropped', () => onServer(`drop database ${databaseName()} with (force)`)],
])('every call gets 503 with Retry-After while the database %s', async (_what, lose) => {
  await eventually(async () => (await service.call('GET', '/products')).status).toBe(200);
  await lose();
  try {
    const failures = await failuresOf(service);
    expect(failures.length).toBeGreaterThan(60);
    expect(failures.filter((failure) => !failure.startsWith('503 later'))).toEqual([]);
  } finally {
    await onServer(
      `drop database if exists ${databaseName()} with (force)`,
      `create database ${databaseName()} template ${copyName()}`,
    );
  }
});
