import pg from 'pg';
import { expect, inject, it } from 'vitest';
import { committedDescription, examplesOfMedia, type Operation } from '../support/api-description.ts';
import { startTestService, type TestService } from '../support/harness.ts';
import { createCaller } from '../support/http.ts';

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

it.each<[string, (service: TestService) => Promise<void>]>([
  [
    'is emptied',
    ({ connection }) => onDatabase(connection, ['drop schema public cascade', 'create schema public']),
  ],
  ['has no schema', ({ connection }) => onDatabase(connection, ['drop schema public cascade'])],
  [
    'is dropped and recreated empty',
    (service) => {
      const name = databaseNameOf(service);
      return onDatabase(inject('server'), [`drop database ${name} with (force)`, `create database ${name}`]);
    },
  ],
  [
    'is dropped',
    (service) => onDatabase(inject('server'), [`drop database ${databaseNameOf(service)} with (force)`]),
  ],
])('every call gets 503 with Retry-After while the database %s', async (_what, lose) => {
  const { service, close } = await startTestService();
  try {
    await service.call('GET', '/products');
    await lose(service);
    const failures = await failuresOf(service);
    expect(failures.length).toBeGreaterThan(60);
    expect(failures.filter((failure) => !failure.startsWith('503 later'))).toEqual([]);
  } finally {
    await onDatabase(inject('server'), [`create database ${databaseNameOf(service)}`]).catch(() => {});
    await close();
  }
});
