import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { asUnavailable } from './postgres-errors.ts';

/** A system error as Node.js throws it. */
const systemError = (code: string, syscall: string) =>
  Object.assign(new Error(`${syscall} ${code} 127.0.0.1:5432`), { code, syscall });

function databaseError(code: string): Error {
  const error = new pg.DatabaseError('said by PostgreSQL', 0, 'error');
  error.code = code;
  return error;
}

describe('a database that cannot be reached or does not answer in time', () => {
  it.each([
    ['a refused connection', systemError('ECONNREFUSED', 'connect')],
    ['a missing socket', systemError('ENOENT', 'connect')],
    ['a broken connection', systemError('ECONNRESET', 'read')],
    ['a broken pipe', systemError('EPIPE', 'write')],
    ['an unknown host', systemError('ENOTFOUND', 'getaddrinfo')],
    [
      'a host with several addresses that do not answer',
      new AggregateError([systemError('ECONNREFUSED', 'connect'), systemError('ETIMEDOUT', 'connect')]),
    ],
    ['a full pool', new Error('timeout exceeded when trying to connect')],
    ['a slow start', new Error('Connection terminated due to connection timeout')],
    ['a killed server', new Error('Connection terminated unexpectedly')],
    ['a frozen server', new Error('Query read timeout')],
    ['a statement that takes too long', databaseError('57014')],
    ['a lock that is held too long', databaseError('55P03')],
    ['a disk that is full', databaseError('53100')],
    ['a database that does not exist', databaseError('3D000')],
    ['a table that does not exist', databaseError('42P01')],
    ['a function that does not exist', databaseError('42883')],
  ])('is recognized by %s', (_what, error) => {
    expect(asUnavailable(error)).toMatchObject({ status: 503, retryAfterSeconds: 2, cause: error });
  });
});

describe('a defect', () => {
  it.each([
    ['a file that is missing', systemError('ENOENT', 'open')],
    [
      'a message that contains words of an outage',
      new Error('The template ENOENT.typ: timeout exceeded while reading EPIPE'),
    ],
    ['a message that begins like that of an outage', new Error('Query read timeout is not a number')],
    ['a mixture of failures', new AggregateError([systemError('ECONNREFUSED', 'connect'), new Error('x')])],
    ['no failure at all', new AggregateError([])],
    ['a wrong statement', databaseError('42601')],
    ['a text', 'Connection terminated'],
  ])('is not treated as an outage: %s', (_what, error) => {
    expect(asUnavailable(error)).toBeUndefined();
  });
});
